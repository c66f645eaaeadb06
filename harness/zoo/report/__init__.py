"""The report of a run: one document, rendered as terminal text, Markdown and HTML."""
