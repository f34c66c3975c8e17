"""Zonotopes by themselves: tiles, lines, points, volume."""

from zonodpp.zonotope._tiling import Tile, Walk
from zonodpp.zonotope._volume import VolumeEstimate
from zonodpp.zonotope._zonotope import Zonotope

__all__ = ["Tile", "VolumeEstimate", "Walk", "Zonotope"]
