"""Runtimes: the ways to host a server."""
