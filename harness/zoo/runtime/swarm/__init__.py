"""Servers and load generators as services of a Docker Swarm."""
