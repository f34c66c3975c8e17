# The public names and their modules, for type checkers and for `zonodpp._optional.lazy`.

from zonodpp.plotting.comparisons import error_against_seconds as error_against_seconds
from zonodpp.plotting.comparisons import error_against_steps as error_against_steps
from zonodpp.plotting.comparisons import psrf_against_steps as psrf_against_steps
from zonodpp.plotting.geometry import hit_and_run_step as hit_and_run_step
from zonodpp.plotting.geometry import skyscrapers as skyscrapers
from zonodpp.plotting.geometry import tiling as tiling
from zonodpp.plotting.graphs import edge_marginals as edge_marginals
from zonodpp.plotting.graphs import spanning_tree as spanning_tree
from zonodpp.plotting.runs import marginals as marginals
from zonodpp.plotting.runs import rank as rank
from zonodpp.plotting.runs import trace as trace
