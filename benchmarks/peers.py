"""The peers that take more than a call: each is found where it is present, or said to be missing.

DPPy and GLPK are the paper's programs; HiGHS keeps its model; graph-tool and igraph in R (Debian's
packages python3-graph-tool and r-cran-igraph) run in processes of their own, which time themselves.
"""

from __future__ import annotations

import pathlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import SEED, Job
from paper.algorithm5 import TOLERANCE, Oracle


def dppy_draws(dppy: Any, vectors: Any, mode: str = "GS") -> Callable[[int], None]:
    """Return a function that makes so many draws by DPPy, of the projection onto the vectors."""
    eigen = np.ones(vectors.shape[1]), vectors
    process = dppy.FiniteDPP("correlation", projection=True, K_eig_dec=eigen)
    state = np.random.RandomState(SEED)

    def draw(count: int) -> None:
        for _ in range(count):
            process.sample_exact(mode=mode, random_state=state)
        process.flush_samples()

    return draw


def dppy_trees(ust: Any, name: str, count: int) -> None:
    """Draw so many spanning trees by DPPy's algorithm of this name."""
    for k in range(count):
        ust.sample(name, random_state=k)
    ust.flush_samples()


class HighsOracle(Oracle):
    """HiGHS by highspy: one model for each of the two programs, kept from call to call.

    Only the right-hand side, d and the sign change, so that the simplex method starts from the
    last basis. A model is not safe to use from two threads.
    """

    def __init__(self, A: Any, c: Any) -> None:
        super().__init__(A, c)
        r, n = self._matrix.shape
        self._indices = np.arange(r, dtype=np.int32)
        self._tile = self._model(self._matrix, self._costs, np.zeros(n), np.ones(n))
        # The column of alpha holds ones until the first d: all its entries must be there.
        self._line = self._model(
            sp.csc_array(sp.hstack([self._matrix, np.ones((r, 1))])),
            np.append(np.zeros(n), 1.0),
            np.append(np.zeros(n), -np.inf),
            np.append(np.ones(n), np.inf),
        )

    @staticmethod
    def _model(matrix: sp.csc_array, costs: Any, lower: Any, upper: Any) -> Any:
        import highspy

        lp = highspy.HighsLp()
        lp.num_row_, lp.num_col_ = matrix.shape
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = costs, lower, upper
        lp.row_lower_ = lp.row_upper_ = np.zeros(matrix.shape[0])
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_ = matrix.indptr
        lp.a_matrix_.index_ = matrix.indices
        lp.a_matrix_.value_ = matrix.data
        model = highspy.Highs()
        for option, value in (
            ("output_flag", False),
            ("solver", "simplex"),
            ("presolve", "off"),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
            ("small_matrix_value", 1e-12),  # the smallest allowed; below it entries are dropped
        ):
            model.setOptionValue(option, value)
        model.passModel(lp)
        return model

    def _optimum(self, model: Any, x: Any) -> Any:
        import highspy

        model.changeRowsBounds(x.size, self._indices, x, x)
        for _ in range(2):
            model.run()
            status = model.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                return np.array(model.getSolution().col_value)
            if status == highspy.HighsModelStatus.kInfeasible:
                return None
            model.clearSolver()  # the last basis was no good start
        raise ArithmeticError(f"HiGHS gave up: {model.modelStatusToString(status)}; rescale A")

    def _solve(self, x: Any) -> Any:
        return self._optimum(self._tile, x)

    def _end(self, x: Any, d: Any, sign: float) -> float | None:
        alpha = self._matrix.shape[1]
        for i, entry in enumerate(d):
            self._line.changeCoeff(i, alpha, -entry)
        self._line.changeColCost(alpha, sign)
        y = self._optimum(self._line, x)
        return None if y is None else float(y[alpha])


class TreeProcess:
    """Spanning trees by a program in a process of its own, which waits for numbers of trees.

    The program gets the ends of the edges and their weights in two files, says its name and version
    when the graph is there, and answers a number of trees by the seconds that one call for each has
    taken, and by the number of edges of the last tree.
    """

    def __init__(
        self, command: Sequence[str], nodes: int, edges: pathlib.Path, weights: str
    ) -> None:
        self.process = subprocess.Popen(
            [*command, str(nodes), str(edges), weights],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.version = self._answer()  # empty if the program cannot load its library
        self.nodes = nodes

    def job(self, trees: int) -> Job:
        """Return the job that makes so many trees, timed by the program."""
        return Job(lambda: self._make(trees), trees, times_itself=True)

    def close(self) -> None:
        """End the process."""
        self.process.communicate()

    def _make(self, trees: int) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{trees}\n")
        self.process.stdin.flush()
        seconds, edges = self._answer().split()
        assert int(edges) == self.nodes - 1, "that is no spanning tree"
        return float(seconds)

    def _answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


HERE = pathlib.Path(__file__).parent
# Debian's Python, which sees Debian's packages, may not be the one that runs the benchmarks.
GRAPH_TOOL = ("/usr/bin/python3", str(HERE / "trees_graph_tool.py"))
IGRAPH = ("Rscript", str(HERE / "trees_igraph.R"))


def tree_process(
    command: Sequence[str], nodes: int, edges: pathlib.Path, weights: str = ""
) -> TreeProcess | None:
    """Start a program for the spanning trees of a graph; return None where it is missing."""
    if shutil.which(command[0]) is None:
        return None
    found = TreeProcess(command, nodes, edges, weights)
    if found.version:
        return found
    found.close()
    return None


def greedy_by_columns(Phi: np.ndarray, k: int, ridge: float) -> list[int]:
    """Pick greedily by the fast algorithm of Chen, Zhang and Zhou, as it is usually written."""
    n = len(Phi)
    left = np.einsum("ij,ij->i", Phi, Phi) + ridge
    rows = np.zeros((k, n))
    picks: list[int] = []
    for t in range(k):
        j = int(np.argmax(left))
        row = Phi @ Phi[j] - rows[:t].T @ rows[:t, j]
        row[j] += ridge
        rows[t] = row / np.sqrt(left[j])
        left -= rows[t] ** 2
        picks.append(j)
        left[picks] = -np.inf
    return picks
