"""Samples, predictions and files: the one place where input from outside is read and checked."""
