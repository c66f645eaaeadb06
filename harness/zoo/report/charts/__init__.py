"""The charts of a run: rows, forms, captions. Pure."""
