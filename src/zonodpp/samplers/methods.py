"""The methods of `sample`, as objects that hold their options.

``method="exchange", rule="barker"`` is shorthand for ``method=Exchange(rule="barker")``. Options
are checked when the object is made. The algorithms are in the other files of this folder, which are
imported when a sampler is prepared: an object costs nothing.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, ClassVar, Protocol

from zonodpp.arguments import one_of
from zonodpp.samplers import Sampler
from zonodpp.targets.target import Target

Sets = Sequence[Sequence[int]] | None  # tracked sets of item numbers


class Method(Protocol):
    """A way to draw: a name, and how to prepare a sampler for a target."""

    @property
    def name(self) -> str:
        """What `Samples.method` says."""

    def suits(self, target: Target) -> bool:
        """Tell whether "auto" should take this method for a target that names it."""

    def prepare(self, target: Target, track: Sets = None) -> Sampler:
        """Do all work that draws share."""


@dataclass(frozen=True)
class Exact:
    """Independent draws: projection DPPs, general DPPs and k-DPPs.

    Parameters
    ----------
    algorithm : {"rejection", "chain-rule"}
        Propose items by their leverage scores and accept each with the share of its column that is
        new (Barthelme, Tremblay, Amblard 2023): a draw costs the same whatever n is. Or compute the
        conditional probabilities of all items for each pick, as the paper's section 2.2 does.

    Examples
    --------
    >>> from zonodpp import Exact, ProjectionDPP, sample
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> sample(target, 100, method=Exact(algorithm="chain-rule"), rng=0).method
    'exact'
    """

    algorithm: str = "rejection"
    name: ClassVar[str] = "exact"

    def __post_init__(self) -> None:
        one_of(self.algorithm, "algorithm", ("rejection", "chain-rule"))

    def suits(self, target: Target) -> bool:
        """Return True: exact draws are the best where they exist."""
        return True

    def prepare(self, target: Target, track: Sets = None) -> Sampler:
        """Whiten the columns, or tabulate the eigenvectors; remembered for the target."""
        file = "mixture" if target.chooses_eigenvectors else "exact"
        return _prepare(file, target, track, options_of(self))


@dataclass(frozen=True)
class Exchange:
    """A Markov chain on bases: one item leaves, one item enters.

    Parameters
    ----------
    rule : {"heat-bath", "metropolis", "barker"}
        How the two items are chosen; "barker" is Algorithm 1 of the paper.

    Examples
    --------
    >>> from zonodpp import Exchange, VolumeSampling, sample
    >>> target = VolumeSampling([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> sample(target, 100, method=Exchange(rule="barker"), rng=0).method
    'exchange'
    """

    rule: str = "heat-bath"
    name: ClassVar[str] = "exchange"

    def __post_init__(self) -> None:
        one_of(self.rule, "rule", ("heat-bath", "metropolis", "barker"))

    def suits(self, target: Target) -> bool:
        """Return True: a chain on bases exists for every target that names this method."""
        return True

    def prepare(self, target: Target, track: Sets = None) -> Sampler:
        """Split the columns into directions and lengths, and build what items are drawn from."""
        return _on_bases(self.name, "exchange", target, track, options_of(self))


@dataclass(frozen=True)
class HitAndRun:
    """Hit-and-run on the zonotope: Algorithms 4 and 5 of the paper, and the exact line.

    Parameters
    ----------
    line : {"gibbs", "metropolis"}
        Draw from the exact conditional along the line, or propose a uniform point of the chord
        and accept it with the ratio of densities. Default: "gibbs".
    directions : {"whitened", "isotropic"}
        Isotropic after whitening (covariance AA'), or as A is given. Default: "whitened".
    tiling : {"fresh", "fixed"}
        New costs c and a new point of the tile at each step, or one c and a carried point.
        Default: "fresh".
    window : float, optional
        Move inside a randomly placed window of this length (in units of the directions) only.
        ``inf`` walks whole chords. Default: about four tiles for each item of a basis.
    base_measure : {"sqrt", "full"}
        Scale column i of the zonotope by sqrt(q_i) or by q_i (the paper's section 3.4).
    c : (n,) array_like, optional
        The linear objective of a fixed tiling. Default: Gaussian, drawn once for each chain.
    preset : {"paper"}, optional
        Algorithm 5 as published: "metropolis", "isotropic" and "fixed" become the defaults.
    reflect : bool, optional
        Let the walk go on from the boundary as from a mirror, to the end of the window. Default:
        where sets are tracked and nothing else is asked for, since averages gain from long walks.

    Examples
    --------
    >>> from zonodpp import HitAndRun, ProjectionDPP, sample
    >>> target = ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])
    >>> sample(target, 100, method=HitAndRun(preset="paper"), rng=0).method
    'zonotope'
    """

    line: str | None = None
    directions: str | None = None
    tiling: str | None = None
    window: float | None = None
    base_measure: str = "sqrt"
    c: Any = None
    preset: str | None = None
    reflect: bool | None = None
    name: ClassVar[str] = "zonotope"

    def __post_init__(self) -> None:
        known = {
            "line": ("gibbs", "metropolis"),
            "directions": ("whitened", "isotropic"),
            "tiling": ("fresh", "fixed"),
            "base_measure": ("sqrt", "full"),
            "preset": ("paper",),
        }
        for option, words in known.items():
            if getattr(self, option) is not None:
                one_of(getattr(self, option), option, words)

    def suits(self, target: Target) -> bool:
        """Return True: a chain on bases exists for every target that names this method."""
        return True

    def prepare(self, target: Target, track: Sets = None) -> Sampler:
        """Choose coordinates and the window, by a short pilot run."""
        return _on_bases(self.name, "hit_and_run", target, track, options_of(self))


@dataclass(frozen=True)
class Trees:
    """Independent spanning trees of a graph, by random walks.

    Parameters
    ----------
    algorithm : {"wilson", "aldous-broder"}
        Loop-erased walks, or one walk until every node has been seen.

    Examples
    --------
    >>> import networkx as nx
    >>> from zonodpp import ProjectionDPP, Trees, sample
    >>> target = ProjectionDPP.from_graph(nx.complete_graph(10))
    >>> sample(target, 100, method=Trees(), rng=0).subsets.shape
    (1, 100, 9)
    """

    algorithm: str = "wilson"
    name: ClassVar[str] = "trees"

    def __post_init__(self) -> None:
        one_of(self.algorithm, "algorithm", ("wilson", "aldous-broder"))

    def suits(self, target: Target) -> bool:
        """Tell whether a walk is expected to be cheaper than an exact draw by linear algebra."""
        cost: Any = importlib.import_module("zonodpp.samplers.walk_cost")
        # NaN, for graphs too large to tell, means a walk as well: nothing else draws there.
        if not cost.expected_steps(target) > cost.steps_of_exact(target.r):
            return True
        cost.announce_exact(target)
        return False

    def prepare(self, target: Target, track: Sets = None) -> Sampler:
        """Cut the graph into blocks and build the tables that steps are drawn by."""
        return _prepare("trees", target, track, options_of(self))


METHODS: dict[str, type[Exact | HitAndRun | Exchange | Trees]] = {
    method.name: method for method in (Exact, HitAndRun, Exchange, Trees)
}


def method_of(
    method: str | Method,
    target: Target,
    options: dict[str, Any],
    parameters: Mapping[str, tuple[str, ...]],
) -> Method:
    """Return the method object that a name with options stands for.

    ``parameters`` are those of the caller, with what other libraries call them: they are
    suggested in place of unknown options.
    """
    if not isinstance(method, str):
        if not callable(getattr(method, "prepare", None)):
            raise TypeError(
                f"method must be one of {', '.join(map(repr, ('auto', *METHODS)))}, or an object "
                f"such as HitAndRun(preset='paper'); got {method!r}"
            )
        if options:
            raise TypeError(
                f"options belong to a method that is given by name; {', '.join(options)} must go "
                f"into {method!r}"
            )
        return method
    if one_of(method, "method", ("auto", *METHODS)) == "auto":
        method = best_method(target).name
    kind = METHODS[method]
    known = [field.name for field in fields(kind)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        hints = (_meant(name, known, parameters) for name in unknown)
        meant = next((f"; did you mean {hint}=?" for hint in hints if hint), "")
        raise TypeError(
            f"method {method!r} has no option {', '.join(map(repr, unknown))}{meant}; it knows "
            f"{', '.join(map(repr, known))}"
        )
    return kind(**options)


def best_method(target: Target) -> Method:
    """Return the first method of the target's own list that suits it."""
    candidates = [METHODS[name]() for name in target.methods]
    return next(method for method in candidates if method.suits(target))


def options_of(method: Any) -> dict[str, Any]:
    """Return the options of a method object, which a checkpoint compares."""
    known = fields(method) if is_dataclass(method) else ()
    return {field.name: getattr(method, field.name) for field in known}


def _meant(name: str, known: list[str], parameters: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return the parameter or option that was probably meant, if there is one."""
    for parameter, others in parameters.items():
        if name.lower() in others:
            return parameter
    near = difflib.get_close_matches(name.lower(), [*known, *parameters], n=1, cutoff=0.7)
    return near[0] if near else None


def _prepare(file: str, target: Target, track: Sets, options: dict[str, Any]) -> Sampler:
    """Prepare a sampler by the function ``prepare`` of an algorithm's file."""
    module: Any = importlib.import_module(f"zonodpp.samplers.{file}")
    sampler: Sampler = module.prepare(target, track, **options)
    return sampler


def _on_bases(
    name: str, file: str, target: Target, track: Sets, options: dict[str, Any]
) -> Sampler:
    """Prepare a chain on the bases that belong to a target."""
    bases = target.on_bases(name)
    sampler = _prepare(file, bases, track, options)
    if bases is target:
        return sampler
    dilation: Any = importlib.import_module("zonodpp.samplers.dilation")
    chain: Sampler = dilation.Dilation(sampler, target.n, target.width)
    return chain
