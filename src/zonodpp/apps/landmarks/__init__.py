"""Landmarks: rows that stand for all rows of a table."""
