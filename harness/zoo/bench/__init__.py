"""Execution of a run: session, warm-up, measurement window, cell."""
