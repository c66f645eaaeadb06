"""The cell of a scenario that is more than windows of wrk."""
