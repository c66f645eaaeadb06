"""A small virtual host for RUNTIME=vm, which uses this host's files."""
