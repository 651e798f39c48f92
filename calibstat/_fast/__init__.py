"""Compiled twins of numpy functions, by numba: the extra ``accel``."""
