"""The agent, a part of the harness that runs next to a server, and its client in the harness."""
