"""`ColumnSelector`: columns that stand for a table, or serve a prediction, with scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d

from zonodpp._arguments import as_count, as_reals, has_masked
from zonodpp._types import Floats, Matrix, MatrixLike
from zonodpp.apps.columns.coordinates import as_operand, coordinates, width_for
from zonodpp.apps.columns.interpolative import least_squares, search
from zonodpp.apps.estimators import rows_for

_CLASSES = 32  # different whole numbers in y up to which they are classes


@dataclass(eq=False, repr=False)  # scikit-learn defines == and repr
class ColumnSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Pick columns of a table that stand for all columns, or serve a prediction.

    Without ``y`` the columns are those of `interpolative` for the centred table: all others follow
    from them by least squares with as little error as a search finds. With ``y`` the search
    lowers a mean of two shares: of the table, and of ``y``, that linear functions of the columns
    leave unexplained. Bring columns in different units to one scale first, as with
    `sklearn.preprocessing.StandardScaler`.

    Parameters
    ----------
    k : int, default 10
        How many columns. Fewer are picked if fewer explain all, and with a warning if X has fewer.
    target_weight : float, default 0.9
        The weight of ``y`` in the mean of the two shares, from 0 (``y`` is not looked at) to 1.
    random_state : int, RandomState or None
        For random products with large tables.

    Attributes
    ----------
    columns_ : (k,) array of int
        The columns picked, in ascending order.
    coefficients_ : (k, n_features) array
        All columns, less their means, by those picked.
    mean_ : (n_features,) array
        Means of the columns.
    error_ : float
        The squared error of ``inverse_transform(transform(X))``.
    best_error_ : float
        That of principal components, as many as columns.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    interpolative : The same for any matrix, without centring.
    LandmarkSelector : Rows in place of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.apps import ColumnSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 12))
    >>> selector = ColumnSelector(3).fit(X)
    >>> selector.transform(X).shape
    (300, 3)
    >>> np.allclose(selector.inverse_transform(selector.transform(X)), X)
    True
    """

    k: int = 10
    _: KW_ONLY
    target_weight: float = 0.9
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Pick columns.

        Parameters
        ----------
        X : (n_samples, n_features) array_like, DataFrame or sparse matrix
            The table.
        y : (n_samples,) or (n_samples, n_targets) array_like, optional
            What is to be predicted. Text, booleans, and up to 32 different whole numbers are
            classes.

        Returns
        -------
        ColumnSelector
            The estimator itself.

        Examples
        --------
        >>> from zonodpp.apps import ColumnSelector
        >>> X = [[0, 10, 1], [3, 30, 1], [1, 5, 0], [2, 25, 0]]
        >>> ColumnSelector(1).fit(X).columns_
        array([1])
        >>> ColumnSelector(1, target_weight=1).fit(X, ["a", "a", "b", "b"]).columns_
        array([2])
        """
        k = as_count(self.k, "k", 1)
        weight = self._weight()
        X = rows_for(self, X, accept_sparse="csc")
        m, n = X.shape
        if k > n:
            warnings.warn(f"k={k} but X has {n} column(s); all of them are kept", stacklevel=2)
            k = n
        targets = np.zeros((m, 0)) if y is None or not weight else _targets(y, m)
        length = np.linalg.norm(targets)
        targets = targets / length if length > 0 else targets[:, :0]
        rng = np.random.default_rng(
            check_random_state(self.random_state).randint(2**31 - 1, size=4)
        )
        operand = as_operand(X, targets, centred=True)
        given = coordinates(operand, width_for(k), rng)
        whole = given.best_error(0)
        if targets.shape[1]:
            given = given._replace(targets=given.targets * np.sqrt(weight))
            share = (1 - weight) / whole if whole > 0 else 0.0
            found = search(given, min(k, given.rank), weight=share)
        else:
            found = search(given, min(k, given.rank))
        self.columns_ = found[0]
        self.mean_ = np.asarray(X.mean(axis=0)).ravel()
        self.coefficients_, self.error_ = least_squares(operand, self.columns_, rng)
        self.best_error_ = min(self.error_, given.best_error(len(self.columns_)))
        return self

    def _weight(self) -> float:
        weight = float(self.target_weight)
        if not 0 <= weight <= 1:
            raise ValueError(f"target_weight must be from 0 to 1, got {self.target_weight!r}")
        return weight

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.columns_] = True
        return mask

    def transform(self, X: MatrixLike) -> Matrix:
        """Return the columns picked.

        Parameters
        ----------
        X : (n, n_features) array_like, DataFrame or sparse matrix
            Rows with the columns of `fit`.

        Returns
        -------
        (n, k) array or sparse matrix
            Those columns.

        Examples
        --------
        >>> from zonodpp.apps import ColumnSelector
        >>> ColumnSelector(1).fit([[0, 9, 1], [0, 2, 1]]).transform([[5, 6, 7]])
        array([[6.]])
        """
        check_is_fitted(self)
        rows: Matrix = rows_for(self, X, accept_sparse="csr", reset=False)
        return rows[:, self.columns_]

    def inverse_transform(self, X: MatrixLike) -> Floats:
        """Return all columns, by least squares from those picked.

        Parameters
        ----------
        X : (n, k) array_like or DataFrame
            The columns that `transform` returns.

        Returns
        -------
        (n, n_features) array
            The columns picked as they are, and the others as they follow from them.

        Examples
        --------
        >>> from zonodpp.apps import ColumnSelector
        >>> selector = ColumnSelector(1).fit([[1, 0, 2], [2, 0, 5], [3, 0, 6], [4, 0, 9]])
        >>> selector.columns_, selector.inverse_transform([[10]]).round(1)
        (array([2]), array([[ 4.5,  0. , 10. ]]))
        """
        check_is_fitted(self)
        k = len(self.columns_)
        picked = as_reals(X, "X", (None, k), f"what transform returns, {k} column(s)", finite=True)
        found = self.mean_ + (picked - self.mean_[self.columns_]) @ self.coefficients_
        found[:, self.columns_] = picked
        return np.asarray(found)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _targets(y: ArrayLike, m: int) -> Floats:
    """Return numbers, or indicators of classes, with means of zero and of equal total weight.

    Indicators of classes are divided by the root of the share of the class: then columns gain by
    the share of their variance that lies between classes.
    """
    if has_masked(y):
        raise ValueError("y has masked entries; leave their rows out of X and y")
    try:
        Y = np.asarray(y)
    except ValueError:
        raise ValueError("y must have one entry, or entries of one number, for each row") from None
    if Y.dtype.kind not in "USb" and not (
        Y.dtype.kind == "O" and all(isinstance(entry, str | bool | np.bool_) for entry in Y.flat)
    ):
        Y = as_reals(y, "y", finite=True, dtype=None)
    if Y.ndim != 2:
        Y = column_or_1d(Y, warn=True)[:, None]
    if len(Y) != m:
        raise ValueError(f"y must have one entry for each of the {m} rows of X, got {len(Y)}")
    parts = []
    for column in Y.T:
        values, codes = np.unique(column, return_inverse=True)
        numeric = column.dtype.kind in "iuf"
        whole = column.dtype.kind not in "f" or bool((values == np.round(values)).all())
        if not numeric or (whole and len(values) <= _CLASSES and Y.shape[1] == 1):
            part = np.eye(len(values))[codes] / np.sqrt(np.bincount(codes))
        else:
            part = column[:, None].astype(np.float64)
        part = part - part.mean(axis=0)
        parts.append(part / (np.linalg.norm(part) or 1.0))
    return np.hstack(parts)
