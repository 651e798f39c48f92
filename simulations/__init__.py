"""Simulation studies, run by name: ``python -m simulations gaussian_mixture --quick``."""
