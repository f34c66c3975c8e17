"""The matrix A in forms to compute with; one file for each."""
