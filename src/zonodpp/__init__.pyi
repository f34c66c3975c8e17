# The public names and their modules, for type checkers and for `zonodpp._optional.lazy`.

from zonodpp import apps as apps
from zonodpp import diagnostics as diagnostics
from zonodpp import features as features
from zonodpp import plotting as plotting
from zonodpp._version import __version__ as __version__
from zonodpp.maximum import find_map as find_map
from zonodpp.runs._prepared import prepare as prepare
from zonodpp.runs._sampling import sample as sample
from zonodpp.samplers._exact import Exact as Exact
from zonodpp.samplers._exchange import Exchange as Exchange
from zonodpp.samplers._hit_and_run import HitAndRun as HitAndRun
from zonodpp.samplers._trees import Trees as Trees
from zonodpp.samples import Samples as Samples
from zonodpp.targets import DPP as DPP
from zonodpp.targets import KDPP as KDPP
from zonodpp.targets import Design as Design
from zonodpp.targets import ProjectionDPP as ProjectionDPP
from zonodpp.targets import VolumeSampling as VolumeSampling
from zonodpp.zonotope import Zonotope as Zonotope
