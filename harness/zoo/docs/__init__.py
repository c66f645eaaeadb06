"""The generated parts of the documents, and the reports of runs, read from their folders."""
