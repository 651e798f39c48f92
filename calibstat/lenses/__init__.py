"""Lenses: questions about the outcome."""
