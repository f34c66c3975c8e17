"""
A summary, marked in its text
=============================

Six sentences of an article about lighthouses. The picture shows the article, with a new line for
each sentence and the chosen ones marked.
"""

import textwrap

import matplotlib.pyplot as plt

from zonodpp.apps import summarize
from zonodpp.datasets import article

summary = summarize(article(), 6)
print(textwrap.fill(str(summary), 90))

# %%
# The whole article, with the summary in colour.

lines = [
    (line, index in summary.indices)
    for index, sentence in enumerate(summary.all_sentences)
    for line in textwrap.wrap(sentence, 78)
]
half = -(-len(lines) // 2)
figure, panels = plt.subplots(1, 2, figsize=(12, 0.17 * half), layout="constrained")
for panel, column in zip(panels, (lines[:half], lines[half:]), strict=True):
    for row, (line, chosen) in enumerate(column):
        panel.text(
            0,
            -row,
            line,
            fontsize=8.5,
            family="DejaVu Sans Mono",
            color="black" if chosen else "0.55",
            backgroundcolor="#ffe08a" if chosen else "white",
            bbox={"pad": 0.8, "facecolor": "#ffe08a" if chosen else "white", "edgecolor": "none"},
        )
    panel.set(xlim=(0, 1), ylim=(-half, 1))
    panel.axis("off")
plt.show()
