"""Compiled parts that every walk on bases shares: columns, the inverse of a basis, alias tables.

A basis B is a list of r items with independent columns; T is the inverse of the matrix of these
columns. Nothing here draws random numbers, except from a generator that is passed in.
"""
