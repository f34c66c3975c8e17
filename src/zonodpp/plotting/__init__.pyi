# The public names and their modules, for type checkers and for `zonodpp._optional.lazy`.

from zonodpp.plotting._geometry import tiling as tiling
from zonodpp.plotting._graphs import edge_marginals as edge_marginals
from zonodpp.plotting._graphs import spanning_tree as spanning_tree
from zonodpp.plotting._runs import marginals as marginals
from zonodpp.plotting._runs import trace as trace
