"""A small virtual host for RUNTIME=vm: its kernel, its files, its first process, and the words that start it."""
