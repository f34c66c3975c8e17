# The public names and their modules, for type checkers and for `zonodpp._optional.lazy`.

from zonodpp.targets._design import Design as Design
from zonodpp.targets._dpp import DPP as DPP
from zonodpp.targets._family import VolumeSampling as VolumeSampling
from zonodpp.targets._kdpp import KDPP as KDPP
from zonodpp.targets._projection import ProjectionDPP as ProjectionDPP
from zonodpp.targets._spanning_trees import SpanningTrees as SpanningTrees
from zonodpp.targets._streamed import StreamedDPP as StreamedDPP
from zonodpp.targets._target import Target as Target
