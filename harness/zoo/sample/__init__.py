"""Samples of a process and its host while a cell runs."""
