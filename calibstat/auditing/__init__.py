"""Audits: which groups of rows, and which variables, a model is off for, with one error probability for all."""
