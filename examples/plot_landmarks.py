"""
Landmarks among the ones of MNIST
=================================

Ten of a thousand images of the digit 1 that represent all of them, upright and slanted, thin and
thick, next to ten images at random. A search finds the landmarks: rows that explain as much as
possible of a kernel of all images.
"""

import matplotlib.pyplot as plt
import numpy as np

from zonodpp.apps import LandmarkSelector
from zonodpp.datasets import mnist_ones

images = mnist_ones()
X = images.reshape(len(images), -1)
selector = LandmarkSelector(10, random_state=3).fit(X)
rows = {
    "landmarks": selector.indices_,
    "at random": np.random.default_rng(0).choice(len(X), 10, replace=False),
}
figure, panels = plt.subplots(2, 10, figsize=(10, 2.4), layout="constrained")
for line, (name, picked) in zip(panels, rows.items(), strict=True):
    for panel, i in zip(line, picked, strict=True):
        panel.imshow(images[i], cmap="gray_r")
        panel.set(xticks=[], yticks=[])
    line[0].set_ylabel(name)
plt.show()
