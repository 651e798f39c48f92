"""Resamplers: row weights, for uncertainty."""
