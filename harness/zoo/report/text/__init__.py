"""A run's report as text: sentences, sections, Markdown, terminal. Pure."""
