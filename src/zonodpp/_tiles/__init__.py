"""The tiles of a zonotope and walks through them, compiled: no randomness, no input or output."""
