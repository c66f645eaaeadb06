"""A run shown: the same document as terminal text and as Markdown."""
