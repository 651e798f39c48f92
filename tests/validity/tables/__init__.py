"""Stored tables of evidence: what is measured, how it is written down, and how a part of it is repeated."""
