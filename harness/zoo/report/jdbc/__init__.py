"""The report of a database run. Pure."""
