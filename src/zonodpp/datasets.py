"""Small data sets that come with the package, for examples and experiments."""

from __future__ import annotations

import csv
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from zonodpp._types import Floats


class Table(NamedTuple):
    """Items as rows, with names for rows and columns.

    Parameters
    ----------
    names : list of str
        The names of the items.
    columns : list of str
        The names of the features.
    values : (items, features) array
        The features.

    See Also
    --------
    foods : Returns one.

    Examples
    --------
    >>> from zonodpp.datasets import foods
    >>> foods().names[:3]
    ['apple', 'banana', 'orange']
    """

    names: list[str]
    columns: list[str]
    values: Floats


def foods() -> Table:
    """Return 32 foods with five nutrients, in grams out of a hundred.

    Returns
    -------
    Table
        With ``names`` of the rows, ``columns`` and ``values``, (32, 5).

    See Also
    --------
    article : A text.
    mnist_ones : Images.

    Examples
    --------
    >>> from zonodpp.datasets import foods
    >>> table = foods()
    >>> table.values.shape, table.columns
    ((32, 5), ['protein', 'fat', 'carbohydrate', 'fibre', 'water'])
    """
    text = files("zonodpp").joinpath("data/foods.csv").read_text(encoding="utf-8")
    header, *rows = csv.reader(text.splitlines())
    values = np.array([[float(entry) for entry in row[1:]] for row in rows])
    return Table([row[0] for row in rows], header[1:], values)


def mnist_ones() -> Floats:
    """Return the first thousand images labelled 1 of the MNIST training set.

    Returns
    -------
    (1000, 28, 28) array
        Grey values from 0 to 1.

    See Also
    --------
    foods : A table.
    article : A text.
    zonodpp.apps.LandmarkSelector : Landmarks for such images.

    References
    ----------
    Y. LeCun, C. Cortes, C. J. C. Burges, "The MNIST database of handwritten digits" (1998).

    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, appendix A.

    Examples
    --------
    >>> from zonodpp.datasets import mnist_ones
    >>> mnist_ones().shape
    (1000, 28, 28)
    """
    with files("zonodpp").joinpath("data/mnist_ones.npz").open("rb") as file:
        images = np.load(file)["images"]
    return np.asarray(images / 255.0)


def article() -> str:
    """Return an article about lighthouses: 64 sentences, written for this package.

    Returns
    -------
    str
        The text. Paragraphs are separated by empty lines.

    See Also
    --------
    foods : A table.
    mnist_ones : Images.
    zonodpp.apps.summarize : A summary of such a text.

    Examples
    --------
    >>> from zonodpp.datasets import article
    >>> article()[:48]
    'A lighthouse makes a modest promise: at a known '
    """
    return files("zonodpp").joinpath("data/article.txt").read_text(encoding="utf-8")
