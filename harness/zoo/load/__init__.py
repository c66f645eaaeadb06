"""Load generators: one small protocol, and one module per tool."""
