"""A run's report as one HTML page. Pure."""
