"""The default summary: important sentences that differ, by a DPP on the words they share.

A content word has the weight w = count * idf, where the count is that of the whole text and the
idf log((1 + n) / (1 + sentences with the word)). Sentences i and j, of l_i and l_j words, have

    L_ij = (sum of the weights of the words that both hold) / sqrt(l_i l_j).

So L_ii, the importance of a sentence, is the mean weight of its words: sentences are central if
they say what the text says often. Two sentences that share their heavy words have a small
determinant. The summary is the set of large det L_S that greedy picks find (MAP inference).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from zonodpp._types import Floats, Integers
from zonodpp.apps.languages import count_words, is_content, rarity, read_language, words
from zonodpp.apps.text import stems
from zonodpp.linalg.dense import to_dense, unit_rows

# Sentences of fewer words count as if they had so many. Without it summaries are full of calls and
# exclamations; 20 costs recall. Chosen on texts that benchmarks/bench_summaries.py does not use.
_SHORT = 12
_IN_SPAN = 1e-10  # a share of the squared length that is rounding error


def central_features(sentences: Sequence[str], language: str | None = None) -> sp.csr_array:
    """Return features Phi with L = Phi Phi', (n, content words) sparse.

    Examples
    --------
    >>> from zonodpp.apps.central import central_features
    >>> Phi = central_features(["Oil lamps burned.", "The sea was calm.", "Oil burns."])
    >>> (Phi @ Phi.T).toarray().round(2)
    array([[0.15, 0.  , 0.1 ],
           [0.  , 0.12, 0.  ],
           [0.1 , 0.  , 0.1 ]])
    """
    code = read_language(language).code
    known = {word for sentence in sentences for word in words(sentence)}
    kept = {word for word in known if is_content(word, code)} or known
    tokens = stems([" ".join(w for w in words(s) if w in kept) for s in sentences], language)
    counts = count_words(tokens)
    weights = counts.sum(axis=0) * rarity(counts)
    lengths = np.array([max(_SHORT, len(words(sentence))) for sentence in sentences])
    present = counts.astype(bool).astype(np.float64)
    return sp.diags_array(lengths**-0.5) @ present @ sp.diags_array(np.sqrt(weights))


def pick_central(Phi: sp.csr_array, lengths: Integers, k: int, budget: float) -> Integers:
    """Pick at most k sentences, of at most ``budget`` words together, with a large determinant.

    Each pick is the sentence with the largest part outside the span of those picked, of all that
    the budget has room for (Chen, Zhang and Zhou, 2018). Where all are in the span, the most
    important ones follow.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from zonodpp.apps.central import pick_central
    >>> Phi = sp.csr_array([[3.0, 0.0], [2.9, 0.0], [0.0, 1.0]])
    >>> pick_central(Phi, np.array([9, 9, 9]), 2, 20)
    array([0, 2])
    """
    importance: Floats = Phi.multiply(Phi).sum(axis=1)
    share = (importance > 0).astype(np.float64)  # of each sentence, the part outside the span
    unit = unit_rows(Phi)
    directions = np.empty((0, len(importance)))  # products with an orthonormal basis of the span
    picks: list[int] = []
    while len(picks) < k:
        left = np.where(lengths <= budget - lengths[picks].sum(), share * importance, 0.0)
        best = int(np.argmax(left))
        if left[best] <= 0:
            break
        picks.append(best)
        cosines = to_dense(unit @ unit[[best]].T).ravel()
        along = (cosines - directions[:, best] @ directions) / np.sqrt(share[best])
        directions = np.vstack([directions, along])
        share = share - along**2
        share[share < _IN_SPAN] = 0.0
        share[best] = 0.0
    for item in np.argsort(-importance, kind="stable").tolist():
        if len(picks) < k and item not in picks and lengths[[*picks, item]].sum() <= budget:
            picks.append(item)
    return np.sort(np.array(picks, dtype=np.int64))
