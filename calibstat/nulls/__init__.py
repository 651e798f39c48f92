"""Nulls: what is assumed, and how the distribution of a statistic under it is had."""
