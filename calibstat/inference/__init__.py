"""Inference: tests, estimates and the results they return."""
