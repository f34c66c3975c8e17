"""Geometry of zonotopes: no randomness, no input or output."""
