# The public names and their modules, for type checkers and for `zonodpp._imports.lazy`.

from zonodpp import apps as apps
from zonodpp import diagnostics as diagnostics
from zonodpp import features as features
from zonodpp import plotting as plotting
from zonodpp._version import __version__ as __version__
from zonodpp.best import find_map as find_map
from zonodpp.best import pick as pick
from zonodpp.exact.projection import Exact as Exact
from zonodpp.exchange.method import Exchange as Exchange
from zonodpp.runs.prepare import prepare as prepare
from zonodpp.runs.sample import sample as sample
from zonodpp.samples import Samples as Samples
from zonodpp.targets import DPP as DPP
from zonodpp.targets import KDPP as KDPP
from zonodpp.targets import Design as Design
from zonodpp.targets import ProjectionDPP as ProjectionDPP
from zonodpp.targets import VolumeSampling as VolumeSampling
from zonodpp.trees.method import Trees as Trees
from zonodpp.zonotope import Zonotope as Zonotope
from zonodpp.zonotope.method import HitAndRun as HitAndRun
