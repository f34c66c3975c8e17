"""Zonotopes by themselves: tiles, lines, points, volume, vertices, containment, reduction."""

from zonodpp.zonotope.containment import Containment
from zonodpp.zonotope.facets import Facets
from zonodpp.zonotope.reduction import VolumeRatio
from zonodpp.zonotope.tiling import Tile, Walk
from zonodpp.zonotope.volume import VolumeEstimate
from zonodpp.zonotope.zonotope import ReducedZonotope, Zonotope

__all__ = [
    "Containment",
    "Facets",
    "ReducedZonotope",
    "Tile",
    "VolumeEstimate",
    "VolumeRatio",
    "Walk",
    "Zonotope",
]
