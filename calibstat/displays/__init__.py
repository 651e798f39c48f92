"""Displays: pictures of results."""
