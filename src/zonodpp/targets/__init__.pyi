# The public names and their modules, for type checkers and for `zonodpp._imports.lazy`.

from zonodpp.targets.base import Target as Target
from zonodpp.targets.designs import Design as Design
from zonodpp.targets.dpp import DPP as DPP
from zonodpp.targets.family import VolumeSampling as VolumeSampling
from zonodpp.targets.kdpp import KDPP as KDPP
from zonodpp.targets.projection import ProjectionDPP as ProjectionDPP
from zonodpp.targets.spanning_trees import SpanningTrees as SpanningTrees
from zonodpp.targets.stream import StreamedDPP as StreamedDPP
