"""Replicates: streams of random numbers, redrawn labels, the bootstrap, and whole cells drawn at once."""
