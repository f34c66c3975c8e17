"""Zonotopes by themselves: tiles, lines, points, volume."""

from zonodpp.zonotope.tiling import Tile, Walk
from zonodpp.zonotope.volume import VolumeEstimate
from zonodpp.zonotope.zonotope import Zonotope

__all__ = ["Tile", "VolumeEstimate", "Walk", "Zonotope"]
