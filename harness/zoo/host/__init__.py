"""Facts about this machine and its limits."""
