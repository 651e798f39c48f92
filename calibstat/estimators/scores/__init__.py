"""Scores and score tests: sums of one number, or a few, for each row."""
