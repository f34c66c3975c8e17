"""Zonotopes by themselves: tiles, lines, points, volume."""

from zonodpp.geometry.pieces import Tile, Walk
from zonodpp.geometry.volume import VolumeEstimate
from zonodpp.geometry.zonotope import Zonotope

__all__ = ["Tile", "VolumeEstimate", "Walk", "Zonotope"]
