"""The tiles of a zonotope and walks through them; results depend on the arguments alone."""
