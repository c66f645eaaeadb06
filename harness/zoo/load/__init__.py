"""Load generators: one small protocol, one module a tool."""
