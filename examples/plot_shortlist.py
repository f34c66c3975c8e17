"""
A shortlist against maximal marginal relevance
==============================================

Ten digits that look like a given one, chosen in three ways: the most relevant ones, by maximal
marginal relevance (MMR), and by ``apps.shortlist``. The curves below show how much diversity each
method gains as it gives up relevance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from zonodpp.apps import shortlist

digits = load_digits()
X = digits.data / np.linalg.norm(digits.data, axis=1, keepdims=True)


def relevance(query):
    """Return the similarity of all digits with the query, which itself is left out."""
    scores = X @ X[query]
    scores[query] = 0
    return scores


def mmr(query, weight, k=10):
    """Return k items: each time the one with the best balance of relevance and novelty."""
    scores = relevance(query)
    picked = [int(np.argmax(scores))]
    while len(picked) < k:
        balance = weight * scores - (1 - weight) * (X @ X[picked].T).max(axis=1)
        balance[[*picked, query]] = -np.inf
        picked.append(int(np.argmax(balance)))
    return picked


def best_list(query, diversity):
    """Return the list of ten that gives up this share of relevance."""
    return shortlist(relevance(query), X, 10, diversity=diversity, duplicates=None).indices


def spread(items):
    """Return the mean distance of the items from each other: one minus the cosine."""
    similarity = X[items] @ X[items].T
    return 1 - (similarity.sum() - len(items)) / (len(items) * (len(items) - 1))


lists = {
    "most relevant": np.argsort(-relevance(12))[:10],
    "MMR": mmr(12, 0.6),
    "shortlist": best_list(12, 0.1),
}
figure, panels = plt.subplots(3, 10, figsize=(10, 3.4), layout="constrained")
for line, (name, items) in zip(panels, lists.items(), strict=True):
    for panel, i in zip(line, items, strict=True):
        panel.imshow(digits.images[i], cmap="gray_r")
        panel.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()

# %%
# The same for twenty queries: the mean distance that a list reaches, over the mean relevance that
# it keeps. The two ways differ little where little relevance is given up; beyond that the lists of
# ``shortlist`` are further apart.


def curve(lists):
    """Return mean relevance and mean distance of lists, one for each query."""
    kept = [(X[items] @ X[q]).mean() for q, items in lists.items()]
    return np.mean(kept), np.mean([spread(items) for items in lists.values()])


queries = range(0, 1600, 80)
figure, panel = plt.subplots(figsize=(6, 4), layout="constrained")
for name, pick, levels in (
    ("MMR", mmr, np.linspace(0.5, 0.65, 19)),
    ("shortlist", best_list, np.linspace(0, 0.25, 13)),
):
    curves = [curve({q: pick(q, level) for q in queries}) for level in levels]
    panel.plot(*np.transpose(curves), "o-", ms=4, label=name)
panel.set(xlabel="mean relevance", ylabel="mean distance")
panel.legend()
plt.show()
