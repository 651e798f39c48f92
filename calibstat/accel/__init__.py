"""Compiled twins of numpy functions, by numba: the only files that import it, loaded where a user asks for them."""
