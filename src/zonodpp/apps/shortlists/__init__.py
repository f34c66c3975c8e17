"""Shortlists: relevant items that differ."""
