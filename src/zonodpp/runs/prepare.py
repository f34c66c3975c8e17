"""`prepare`: what draws share, done once; then a draw at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from zonodpp._arguments import as_count, spawn
from zonodpp._types import Integers, Rng, SeedLike
from zonodpp.chains.contract import Block, Method, Sampler, make_draw
from zonodpp.chains.methods import method_of
from zonodpp.chains.tracking import NO_SETS
from zonodpp.numerics.arrays import refreeze
from zonodpp.runs.groups import Group, advance, empty_rows, item_type, start_groups
from zonodpp.targets.base import Target

_AHEAD = 1e-3  # seconds of work ahead of a stream, once it is under way
_ROWS_GROWTH = 8  # factor by which blocks of draws grow; the first block is a single draw


def prepare(target: Target, method: str | Method = "auto", **options: object) -> PreparedSampler:
    """Do the work that all draws from a target share, and return a sampler of single draws.

    The target keeps the result of this work, so that a second call costs next to
    nothing, and is forgotten together with the target.

    Parameters
    ----------
    target : ProjectionDPP, VolumeSampling, DPP, KDPP or Design
        What to draw from.
    method : {"auto", "exact", "zonotope", "exchange", "trees"} or method object
        As in `sample`.
    **options
        Options of the method, if it is given by name.

    Returns
    -------
    PreparedSampler
        With ``draw(rng)``, which returns one subset, and ``stream(rng)``, which yields subsets.

    Raises
    ------
    TypeError
        When there is no such method, or it has no such option.
    ValueError
        When the method does not draw from such a target.

    See Also
    --------
    sample : Many draws, chains, diagnostics.

    Examples
    --------
    >>> import itertools
    >>> import numpy as np
    >>> from zonodpp import ProjectionDPP, prepare
    >>> X = np.random.default_rng(0).normal(size=(1000, 5))
    >>> sampler = prepare(ProjectionDPP.from_features(X))
    >>> sampler
    PreparedSampler(method='exact')
    >>> rng = np.random.default_rng(1)
    >>> sampler.draw(rng).shape
    (5,)
    >>> [len(subset) for subset in itertools.islice(sampler.stream(rng), 3)]
    [5, 5, 5]
    """
    chosen = method_of(method, target, options, {})
    return PreparedSampler(chosen.name, chosen.prepare(target))


@dataclass(frozen=True)
class PreparedSampler:
    """Draws from a target, one at a time; made by `prepare`.

    It can be pickled, and several threads may use it at once, each with a generator of its own.

    Attributes
    ----------
    method : str
        The name of the method.
    independent : bool
        Whether draws are independent. If not, they are the steps of a Markov chain.

    See Also
    --------
    zonodpp.prepare : Makes one.

    Examples
    --------
    >>> from zonodpp import ProjectionDPP, prepare
    >>> prepare(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]]))
    PreparedSampler(method='exact')
    """

    method: str
    _sampler: Sampler = field(repr=False)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        refreeze(self._sampler)

    @property
    def independent(self) -> bool:
        """Whether draws are independent."""
        return self._sampler.independent

    def draw(self, rng: SeedLike = None, *, burn_in: int = 0) -> Integers:
        """Return one subset, its items in ascending order.

        A Markov chain starts anew for each draw and makes ``burn_in`` steps first; `stream` goes on
        with one chain.

        Parameters
        ----------
        rng : numpy Generator or seed, optional
            A generator is used as it is and goes on from draw to draw.
        burn_in : int
            Steps thrown away first. Independent draws need none.

        Returns
        -------
        array of int
            Numbers of the items.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, prepare
        >>> prepare(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])).draw(0).shape
        (2,)
        """
        generator = _generator(rng)
        steps = as_count(burn_in, "burn_in", 0) + 1
        subset = np.empty((1, self._sampler.width), item_type(self._sampler))
        state = self._sampler.start([generator], None, NO_SETS)
        make_draw(self._sampler, state, generator, subset, steps)
        return _items(subset[0].astype(np.int64))

    def stream(
        self, rng: SeedLike = None, *, burn_in: int = 0, thin: int = 1
    ) -> Iterator[Integers]:
        """Return an endless iterator of subsets, the items of each in ascending order.

        The draws are made in blocks ahead of their use, for about a millisecond.

        Parameters
        ----------
        rng : numpy Generator or seed, optional
            A generator is used as it is; do not use it elsewhere while the stream is in use.
        burn_in, thin : int
            Steps thrown away first, and steps from one subset to the next. Independent draws need
            neither, and ignore both.

        Returns
        -------
        iterator of arrays of int
            Numbers of the items of each subset.

        Examples
        --------
        >>> from zonodpp import ProjectionDPP, prepare
        >>> stream = prepare(ProjectionDPP([[1, 2, 0, -1], [0, 1, 2, 1]])).stream(0)
        >>> next(stream).shape
        (2,)
        """
        generator = _generator(rng)
        burn_in, thin = as_count(burn_in, "burn_in", 0), as_count(thin, "thin", 1)
        if self.independent:
            burn_in, thin = 0, 1
        [chain] = start_groups(self._sampler, [generator], burn_in=burn_in)
        return self._blocks(chain, thin)

    def _blocks(self, chain: Group, thin: int) -> Iterator[Integers]:
        rows = 1
        while True:
            block = Block(*empty_rows(self._sampler, NO_SETS, 1, rows), thin)
            made = advance(self._sampler, chain, block, NO_SETS, _AHEAD)
            yield from map(_items, block.subsets[0, :made].astype(np.int64))
            rows = _ROWS_GROWTH * rows if made == rows else max(1, made)


def _generator(rng: SeedLike) -> Rng:
    """Return a generator as it is, or one of our own that a seed stands for."""
    return rng if isinstance(rng, Rng) else spawn(rng)[0]


def _items(row: Integers) -> Integers:
    """Return a row without the -1 that fill up small draws."""
    return row if row[-1] >= 0 else row[row >= 0]
