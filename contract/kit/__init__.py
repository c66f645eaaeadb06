"""Parts of the suite: a strict HTTP client, servers in processes and containers, targets and constants."""
