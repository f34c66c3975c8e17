# The public names and their modules, for type checkers and for `zonodpp._optional.lazy`.

from zonodpp import apps as apps
from zonodpp import diagnostics as diagnostics
from zonodpp import features as features
from zonodpp import plotting as plotting
from zonodpp._version import __version__ as __version__
from zonodpp.maximum import find_map as find_map
from zonodpp.runs.prepared import prepare as prepare
from zonodpp.runs.sampling import sample as sample
from zonodpp.samplers.exact import Exact as Exact
from zonodpp.samplers.exchange import Exchange as Exchange
from zonodpp.samplers.hit_and_run import HitAndRun as HitAndRun
from zonodpp.samplers.trees import Trees as Trees
from zonodpp.samples import Samples as Samples
from zonodpp.targets import ProjectionDPP as ProjectionDPP
from zonodpp.targets import VolumeSampling as VolumeSampling
from zonodpp.targets.design import Design as Design
from zonodpp.targets.dpp import DPP as DPP
from zonodpp.targets.kdpp import KDPP as KDPP
from zonodpp.zonotope import Zonotope as Zonotope
