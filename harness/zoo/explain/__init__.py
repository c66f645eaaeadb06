"""The cause of a difference between two entries: profiles, differential flame graphs, counts per request."""
