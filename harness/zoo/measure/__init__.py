"""A run carried out: session, server, warm-up, window, cell and trials."""
