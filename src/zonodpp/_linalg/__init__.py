"""Linear algebra for the matrix A and for kernels; one file for each idea."""
