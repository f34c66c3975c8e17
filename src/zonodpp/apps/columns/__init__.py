"""Columns that stand for all columns of a matrix."""
