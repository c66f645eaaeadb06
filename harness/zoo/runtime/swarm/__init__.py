"""Servers and generators as services of a Docker Swarm."""
