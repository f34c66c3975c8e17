"""Summaries: the sentences of a text that stand for it."""
