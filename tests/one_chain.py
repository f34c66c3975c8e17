"""One chain that a test drives by hand."""

import numpy as np

from zonodpp.chains import Block, TrackedSets


def start(sampler, rng, init=None, track=()):
    """Return the state of one chain; its arrays have an axis for chains, as in runs."""
    bases = None if init is None else np.array([init])
    return sampler.start([rng], bases, TrackedSets.of(track))


def advance(sampler, state, rng, subsets, tracked=None, thin=1, track=()):
    """Fill the rows of ``subsets`` and add to ``tracked``; return how many draws are finished."""
    if tracked is None:
        tracked = np.zeros((len(subsets), len(track)))
    block = Block(subsets[None], tracked[None], thin)
    return sampler.advance(state, [rng], block, TrackedSets.of(track))
