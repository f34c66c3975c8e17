"""Rows beyond memory: sources of batches, and what one pass over them computes."""
