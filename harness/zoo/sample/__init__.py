"""What a process and its host do while a cell runs."""
