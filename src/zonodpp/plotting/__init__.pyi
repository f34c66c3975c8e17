# The public names and their modules, for type checkers and for `zonodpp._imports.lazy`.

from zonodpp.plotting._zonotopes import zonotope as zonotope
from zonodpp.plotting.geometry import tiling as tiling
from zonodpp.plotting.graphs import edge_marginals as edge_marginals
from zonodpp.plotting.graphs import spanning_tree as spanning_tree
from zonodpp.plotting.runs import marginals as marginals
from zonodpp.plotting.runs import trace as trace
