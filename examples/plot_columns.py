"""
Images of digits kept by 20 pixels
==================================

Twenty of the 64 pixels of scikit-learn's digits, from which the others follow by least squares:
images, what is kept of them (the rest is orange), the images as they follow from it, and as they
follow from twenty pixels at random.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from zonodpp.apps import ColumnSelector

X = load_digits().data
selector = ColumnSelector(20).fit(X)
at_random = np.sort(np.random.default_rng(0).choice(64, 20, replace=False))
coefficients = np.linalg.lstsq(X[:, at_random], X)[0]

total = ((X - X.mean(axis=0)) ** 2).sum()
print(f"20 pixels explain {1 - selector.error_ / total:.1%} of the variance,")
print(f"20 principal components {1 - selector.best_error_ / total:.1%}")

rows = {
    "image": X,
    "pixels kept": np.where(selector.get_support(), X, np.nan),
    "from these": selector.inverse_transform(selector.transform(X)),
    "from random": X[:, at_random] @ coefficients,
}
figure, panels = plt.subplots(4, 10, figsize=(10, 4.6), layout="constrained")
for line, (name, images) in zip(panels, rows.items(), strict=True):
    for panel, image in zip(line, images, strict=False):
        panel.set_facecolor("tab:orange")
        panel.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        panel.set(xticks=[], yticks=[])
    line[0].set_ylabel(name)
plt.show()
