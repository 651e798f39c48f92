"""Nulls: what is assumed, and the distribution that a statistic has under it."""
