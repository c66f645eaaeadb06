"""How a server is hosted."""
