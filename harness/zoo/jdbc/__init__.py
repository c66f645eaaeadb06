"""Database access by executor: runs java-jdbc's benchmark, keeps and compares what it gives."""
