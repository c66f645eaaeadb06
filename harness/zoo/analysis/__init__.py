"""Records → what they say: summary, metrics, flags, pairs, verdicts. Pure."""
