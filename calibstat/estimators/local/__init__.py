"""Local regression, and the indices that are made of its curve."""
