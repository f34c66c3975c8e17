"""`DesignRegression`: unbiased least squares from the labels of a few rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from zonodpp._arguments import as_count, as_flag, as_reals, check_finite
from zonodpp._types import Floats, Integers, MatrixLike
from zonodpp.apps.estimators import rows_for
from zonodpp.numerics.arrays import to_dense
from zonodpp.numerics.gram import RankError
from zonodpp.runs.sample import sample
from zonodpp.targets.designs import Design

Responses = ArrayLike | Callable[[Integers], ArrayLike]  # measured, or what measures rows


@dataclass(eq=False, repr=False)  # scikit-learn defines == and repr
class DesignRegression(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression from the labels of k rows, unbiased for the fit to all rows.

    The mean of the coefficients over draws is the least squares solution of all rows, whatever the
    labels are: they need not come from a linear model. Least squares on rows that are drawn
    uniformly is biased.

    Parameters
    ----------
    k : int, optional
        How many rows to draw, at least as many as coefficients (the intercept counts as one).
        None: twice as many as coefficients, or all rows if there are fewer.
    rescaled : bool, default False
        False: volume sampling, P(S) proportional to det(X_S' X_S); see `zonodpp.Design`. It suits
        labels with independent noise of one variance. True: leveraged volume sampling. With d
        coefficients, d rows come from the projection DPP of X. The others are drawn independently
        in proportion to the leverage scores l, so that a row may be drawn twice. Row i has weight
        1 / l_i in least squares. With high probability, the squared loss over all rows is at most
        1 + epsilon times the least possible one for k of the order of d log d + d / epsilon,
        whatever the labels are.
    fit_intercept : bool, default True
        Whether to add a column of ones.
    random_state : int, RandomState or None
        As in scikit-learn.

    Attributes
    ----------
    coef_ : (n_features,) or (n_outputs, n_features) array
        Coefficients.
    intercept_ : float or (n_outputs,) array
        The constant; 0.0 without an intercept.
    indices_ : (k,) array of int
        The rows drawn, ascending; with ``rescaled=True`` some may occur twice.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    zonodpp.Design : The law of the rows.
    zonodpp.find_map : A D-optimal design, which maximises its probability.

    References
    ----------
    M. Derezinski, M. K. Warmuth, "Reverse iterative volume sampling for linear regression",
    Journal of Machine Learning Research 19 (2018).

    M. Derezinski, M. K. Warmuth, D. Hsu, "Leveraged volume sampling for linear regression",
    NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.apps import DesignRegression
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> def measure(rows):  # an experiment for each row that was drawn
    ...     return 2.0 + X[rows] @ [1.0, 0.0, -1.0]
    >>> model = DesignRegression(k=10, random_state=0).fit(X, measure)
    >>> model.coef_.round(6) + 0.0, round(float(model.intercept_), 6), model.indices_.size
    (array([ 1.,  0., -1.]), 2.0, 10)
    """

    k: int | None = None
    _: KW_ONLY
    rescaled: bool = False
    fit_intercept: bool = True
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: MatrixLike, y: Responses) -> Self:
        """Draw rows, read their labels, and solve the least squares problem.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or DataFrame
            All rows. The columns, with the column of ones, must be linearly independent.
        y : array_like or function
            Responses, (n_samples,) or (n_samples, n_outputs). Only those of the drawn rows are
            read: all others may be anything, such as NaN. A function gets the numbers of the drawn
            rows, each once and in ascending order, and returns their responses.

        Returns
        -------
        DesignRegression
            The estimator itself.

        Raises
        ------
        ValueError
            When k is larger than the number of rows or smaller than the number of coefficients, or
            when columns are linearly dependent.

        Examples
        --------
        >>> from zonodpp.apps import DesignRegression
        >>> DesignRegression(2, random_state=0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]).coef_
        array([2.])
        """
        if y is None:
            raise ValueError("DesignRegression requires y to be passed, but the target y is None")
        X = to_dense(rows_for(self, X, ensure_min_samples=2))
        has_intercept = as_flag(self.fit_intercept, "fit_intercept")
        columns = np.column_stack([np.ones(len(X)), X]) if has_intercept else X
        n, d = columns.shape
        k = min(2 * d, n) if self.k is None else as_count(self.k, "k", 1)
        self._need_rows(k, n, d, has_intercept)
        if not callable(y):
            _need_labels(y, n)
        state = check_random_state(self.random_state)
        rng = np.random.default_rng(state.randint(2**31 - 1, size=4))
        rescaled = as_flag(self.rescaled, "rescaled")
        try:
            target = Design(columns, d if rescaled else k)
        except RankError as error:
            ones = " with the column of ones of the intercept" if has_intercept else ""
            others = ", also constant columns" if has_intercept else ""
            raise ValueError(
                f"X{ones} has numerical rank {error.rank} but {d} columns: these must be linearly "
                f"independent. Drop columns that depend on others{others}"
            ) from None
        drawn = sample(target, 1, rng=rng, progress=False).subsets[0, 0].astype(np.int64)
        weights = np.ones(k)  # of the rows in least squares
        if rescaled:
            leverages = target.base.marginals()
            others = rng.choice(n, k - d, p=leverages / leverages.sum())
            drawn = np.sort(np.concatenate([drawn, others]))
            weights = 1.0 / leverages[drawn]
        self.indices_ = drawn
        rows, places = np.unique(drawn, return_inverse=True)
        labels = as_reals(y(rows) if callable(y) else _taken(y, rows), "y")
        if labels.ndim not in (1, 2) or len(labels) != rows.size:
            needed = f"y must give one label, or one row of labels, for each of {rows.size} rows"
            raise ValueError(f"{needed} that were drawn, got an array of shape {labels.shape}")
        check_finite(labels, "y")
        model = LinearRegression(fit_intercept=has_intercept)
        model.fit(X[drawn], labels[places], sample_weight=weights)
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        return self

    def _need_rows(self, k: int, n: int, d: int, has_intercept: bool) -> None:
        """Raise an error unless d coefficients can be fitted to k of n rows."""
        parts = f"{d - 1} columns and an intercept" if has_intercept else f"{d} columns"
        fewer = "fewer columns, or fit_intercept=False" if has_intercept else "fewer columns"
        if n < d:
            raise ValueError(
                f"X has {n} rows and the model {d} coefficients ({parts}): there must be at least "
                f"as many rows; take more rows or {fewer}"
            )
        if not d <= k <= n:
            raise ValueError(
                f"k = {k} rows cannot be drawn: the model has {d} coefficients ({parts}) and X "
                f"{n} rows; take k from {d} to {n}"
            )

    def predict(self, X: MatrixLike) -> Floats:
        """Predict the labels of rows.

        Parameters
        ----------
        X : (n_samples, n_features) array_like or DataFrame
            Rows with the features of `fit`.

        Returns
        -------
        (n_samples,) or (n_samples, n_outputs) array
            Predicted labels.

        Examples
        --------
        >>> from zonodpp.apps import DesignRegression
        >>> model = DesignRegression(2, random_state=0).fit([[0.0], [1.0], [2.0]], [1, 3, 5])
        >>> model.predict([[4.0]]).round(6)
        array([9.])
        """
        check_is_fitted(self)
        X = rows_for(self, X, reset=False)
        return np.asarray(X @ self.coef_.T + self.intercept_)


def _taken(y: Any, rows: Integers) -> object:
    """Return the labels of some rows; all others may be anything."""
    if isinstance(y, list | tuple):
        return [y[row] for row in rows.tolist()]
    if hasattr(y, "iloc"):  # of pandas
        return y.iloc[rows]
    return (y if isinstance(y, np.ndarray) else np.asarray(y))[rows]


def _need_labels(y: Any, n: int) -> None:
    """Raise an error unless there is one label for each of n rows."""
    known = y if isinstance(y, list | tuple) or hasattr(y, "iloc") else np.asarray(y)
    count = 1 if isinstance(known, np.ndarray) and known.ndim == 0 else len(known)
    if count != n:
        raise ValueError(f"y must have one label for each of the {n} rows, got {count}")
