"""Watching a model while it runs: evidence that may be looked at after every row."""
