"""`LandmarkSelector`: rows that stand for a data set, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from zonodpp._arguments import as_count, as_positive, in_one_line, one_of
from zonodpp._types import Floats, Integers, Matrix, MatrixLike, Rng
from zonodpp.apps.coresets import cover
from zonodpp.apps.estimators import rows_for, weights_for
from zonodpp.apps.landmarks.features import features_for_draws, outlyingness
from zonodpp.apps.landmarks.rows import DistinctRows, merge
from zonodpp.apps.landmarks.search import PICKERS
from zonodpp.apps.landmarks.streams import rows_beyond_memory, streamed_target
from zonodpp.apps.tables import rows_of
from zonodpp.chains.methods import METHODS
from zonodpp.numerics.arrays import to_dense
from zonodpp.numerics.kernel import rounding_share
from zonodpp.numerics.kernel_function import (
    Gamma,
    Kernel,
    scale_gamma,
    times_power_of_two,
)
from zonodpp.runs.sample import sample
from zonodpp.targets import ProjectionDPP
from zonodpp.targets.batches import RowSource, source_of
from zonodpp.targets.passes import View
from zonodpp.targets.stream import take_moments

_LARGEST = 1e150  # sums of the squares of larger entries exceed the range of float64
_TRANSFORMERS = ("pca", "kernel", "isomap", "precomputed")


@dataclass(eq=False, repr=False)  # scikit-learn defines == and repr
class LandmarkSelector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pick rows that stand for all rows, and use them as landmarks of a kernel.

    By default ``fit`` searches for the rows that leave the least trace of the kernel (Nystroem
    approximation): greedily, then by exchanges. On request the rows are random instead, with an
    exact law: a draw from a projection DPP (``transformer``), or the pivots of randomly pivoted
    Cholesky. ``transform`` maps rows to their similarities with the landmarks, normalised as in
    `sklearn.kernel_approximation.Nystroem`, so that inner products approximate the kernel.

    Parameters
    ----------
    n_landmarks : int, default 10
        How many rows to pick. If X has fewer distinct rows, all are picked, with a warning.
    transformer : str, scikit-learn transformer or None, default None
        None: search. Otherwise the rows are a draw from a projection DPP: row i gets features f_i,
        as many as there are landmarks, and B has probability proportional to
        ``det(f_B)**2 * prod(q_B)``. ``"pca"``, the paper's choice: a constant and the leading
        ``n_landmarks - 1`` principal coordinates, so that the determinant is proportional to the
        volume of the simplex with the landmarks as corners. ``"kernel"``: the leading
        eigenfunctions of ``kernel``. ``"isomap"`` and any transformer: the same simplex in the
        transformed coordinates. ``"precomputed"``: X itself, with ``n_landmarks`` columns.
        Where there are too few coordinates for "pca", "isomap" or a transformer, the
        eigenfunctions of the kernel ``exp(-distance / spread)`` of the coordinates are taken.
    kernel : str or callable, default "rbf"
        The kernel to approximate: a name that `sklearn.metrics.pairwise.pairwise_kernels` knows,
        or a function of two rows.
    gamma : float, "scale" or None, default "scale"
        Parameter of the kernel. "scale" is ``1 / X.var(axis=0).sum()``, which is that of
        `sklearn.svm.SVC` if the columns have equal means; None leaves it to the kernel.
    kernel_params : dict, optional
        Further parameters of the kernel.
    downweight_outliers : bool, default True
        For DPP draws: divide the weight q_i of a row by the squared length that its features leave
        out (plus a hundredth of the mean). If that part is noise, the law is proportional to the
        criterion of D-optimal designs. False: all rows have the same weight.
    n_draws : int, default 1
        Number of searches or draws, of which the best is kept: the one that leaves the least trace
        or, for DPP draws, the one of highest probability.
    method : {"auto", "search", "rp-cholesky", "exact", "zonotope", "exchange"}
        ``"auto"``: search, or with a ``transformer`` the best way to draw. ``"rp-cholesky"``: the
        pivots of `zonodpp.features.rp_cholesky`. The others are ways to draw, as in
        `zonodpp.sample`; ``transformer`` is then "pca" if not given.
    objective : {"trace", "coverage"}
        ``"trace"``: a small mean error, to which large groups matter most. ``"coverage"``: a small
        largest distance of a row from its landmark, so that every group and every outlier gets a
        landmark before a large group gets many: the rows of `coreset`. Rows are then read in
        batches, whatever their source, nothing is random, and the weights of rows only tell which
        rows may be picked.
    random_state : int, RandomState or None
        As in scikit-learn.

    Attributes
    ----------
    indices_ : (n_landmarks,) array of int
        The rows picked, in the order of ``landmarks_``; of equal rows, the first.
    landmarks_ : (n_landmarks, n_features) array or sparse matrix
        Those rows, in lexicographic order.
    log_prob_ : float
        For DPP draws: log probability of this choice among all sets of distinct rows.
    gamma_ : float or None
        The gamma in use; infinite or zero where X has so extreme a unit that no float holds it.
    normalization_ : (n_landmarks, n_landmarks) array
        ``K_mm^(-1/2)``, where K_mm is the kernel matrix of the landmarks.
    transformer_ : transformer
        The fitted transformer, if one was given or made by "isomap".
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    zonodpp.features.rp_cholesky : Features of a kernel by random pivots.
    zonodpp.ProjectionDPP.from_features : The law of DPP draws.

    References
    ----------
    G. Gautier, R. Bardenet, M. Valko, "Zonotope hit-and-run for efficient sampling from
    projection DPPs", ICML 2017, appendix A.

    Y. Chen, E. N. Epperly, J. A. Tropp, R. J. Webber, "Randomly pivoted Cholesky: practical
    approximation of a kernel matrix with few entry evaluations", Communications on Pure and Applied
    Mathematics 78 (2025).

    Examples
    --------
    >>> import numpy as np
    >>> from zonodpp.apps import LandmarkSelector
    >>> X = np.random.default_rng(0).normal(size=(500, 20))
    >>> selector = LandmarkSelector(5, random_state=0).fit(X)
    >>> selector.landmarks_.shape, bool((X[selector.indices_] == selector.landmarks_).all())
    ((5, 20), True)
    >>> selector.transform(X).shape
    (500, 5)
    """

    n_landmarks: int = 10
    _: KW_ONLY
    transformer: str | BaseEstimator | None = None
    kernel: str | Callable[..., float] = "rbf"
    gamma: float | str | None = "scale"
    kernel_params: dict[str, object] | None = None
    downweight_outliers: bool = True
    n_draws: int = 1
    method: str = "auto"
    objective: str = "trace"
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: MatrixLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Pick landmarks.

        Parameters
        ----------
        X : (n_samples, n_features) array_like, DataFrame or sparse matrix
            Rows to pick from. With ``transformer="pca"`` memory maps, Dask collections, paths of
            Parquet files and functions that return an iterator of batches are read in three
            passes; see docs/streams.md. Equal rows are then separate items.
        y : ignored
            Here so that pipelines can pass it.
        sample_weight : (n_samples,) array_like, optional
            A row of weight 3 is treated as three equal rows, and a row of weight 0 is left out:
            weights enter the trace, the features and the probabilities.

        Returns
        -------
        LandmarkSelector
            The estimator itself.

        Examples
        --------
        >>> from zonodpp.apps import LandmarkSelector
        >>> line = [[0.0], [0.1], [5.0], [9.0], [9.1]]
        >>> LandmarkSelector(2, random_state=0).fit(line, sample_weight=[1, 0, 0, 0, 1]).indices_
        array([0, 4])
        """
        m = as_count(self.n_landmarks, "n_landmarks", 1)
        n_draws = as_count(self.n_draws, "n_draws", 1)
        if not isinstance(self.kernel_params, dict | None):
            found = in_one_line(repr(self.kernel_params))
            raise TypeError(f"kernel_params must be a dict of parameters by name, got {found}")
        method = self._method()
        if one_of(self.objective, "objective", ("trace", "coverage")) == "coverage":
            return self._fit_coverage(X, sample_weight, m)
        state = check_random_state(self.random_state)
        rng = np.random.default_rng(state.randint(2**31 - 1, size=4))
        source = rows_beyond_memory(X, sample_weight, self.transformer)
        if source is not None:
            return self._fit_in_passes(source, m, n_draws, method, rng)
        X = rows_for(self, X, accept_sparse="csr")
        weights = weights_for(sample_weight, X.shape[0])
        largest = max(float(X.max()), -float(X.min()))
        if largest > _LARGEST:
            found = f"X has entries up to {largest:.3g} in size"
            limit = f"squares of numbers above {_LARGEST:g} overflow"
            raise ValueError(f"{found}, and {limit}; scale the columns first")
        given = merge(X, weights)
        rows = given.rows
        if len(rows) < m:
            warnings.warn(_too_few(m, given), stacklevel=2)
            m = len(rows)
        gamma = scale_gamma(X, weights) if isinstance(self.gamma, str) else None
        self._set_kernel(X, gamma)
        if method in PICKERS:
            indices = self._search(given, m, n_draws, method, rng)
        else:
            features, transformer = features_for_draws(
                given, weights, m, self.transformer, self._kernel.scaled, rng
            )
            if transformer is not None:
                self.transformer_ = transformer
            mean = float(np.average(features.left_out, weights=given.weights))
            factors = outlyingness(features.left_out, self.downweight_outliers * mean)
            target = ProjectionDPP.from_features(features.values, weights=given.weights / factors)
            indices = rows[self._draw(target, n_draws, method, rng)]
        self._keep(X[indices], indices)
        return self

    def _fit_coverage(self, X: MatrixLike, weights: ArrayLike | None, m: int) -> Self:
        """Pick landmarks that are near to all rows."""
        if self.transformer is not None or self.method != "auto" or self.n_draws != 1:
            raise ValueError(
                "objective='coverage' takes neither transformer= nor method= nor n_draws=: its "
                "landmarks are neither searched nor drawn; leave these out"
            )
        found = source_of(X, weights, None, None)
        if found is None:
            X = rows_for(self, X, accept_sparse="csr")
            q = weights_for(weights, X.shape[0])
            given = merge(X, q)
            if len(given.rows) < m:
                warnings.warn(_too_few(m, given), stacklevel=3)
                m = len(given.rows)
            indices = given.rows[cover(rows_of(X[given.rows], None, "X"), m).indices]
            self._set_kernel(X, scale_gamma(X, q) if isinstance(self.gamma, str) else None)
            self._keep(X[indices], indices)
            return self
        coreset = cover(found[0], m)
        landmarks = coreset.rows.astype(np.float64)
        self.n_features_in_ = landmarks.shape[1]
        scale = 1.0
        if isinstance(self.gamma, str):
            moments = take_moments(found[0], View(), centred=True)
            scatter = float(np.trace(moments.scatter))
            scale = moments.weight / scatter if scatter > 0 else 1.0
        self._set_kernel(landmarks, Gamma(scale))
        self._keep(landmarks, coreset.indices)
        return self

    def _method(self) -> str:
        """Return the method that "auto" stands for, after the checks of the settings."""
        method = one_of(self.method, "method", ("auto", *PICKERS, *METHODS))
        if self.transformer is None:
            return "search" if method == "auto" else method
        if method in PICKERS:
            advice = "leave it out, or pass method='auto' for a DPP draw"
            raise ValueError(f"method={method!r} takes no transformer: {advice}")
        if isinstance(self.transformer, str):
            one_of(self.transformer, "transformer", _TRANSFORMERS)
        elif not hasattr(self.transformer, "fit_transform"):
            known = f"one of {', '.join(map(repr, _TRANSFORMERS))} or have fit_transform"
            raise TypeError(f"transformer must be {known}, got {self.transformer!r}")
        return method

    def _fit_in_passes(
        self, source: RowSource, m: int, n_draws: int, method: str, rng: Rng
    ) -> Self:
        """Draw landmarks from rows that are never held in memory."""
        streamed, variance = streamed_target(source, m, self.downweight_outliers)
        indices = self._draw(streamed, n_draws, method, rng)
        landmarks = streamed.rows_of(indices)
        self.n_features_in_ = landmarks.shape[1]
        scale = 1.0 / variance if variance > 0 else 1.0
        self._set_kernel(landmarks, Gamma(scale))
        self._keep(landmarks, indices)
        return self

    def _search(self, given: DistinctRows, m: int, n_draws: int, method: str, rng: Rng) -> Integers:
        """Return the best landmarks of several searches, or of several draws of pivots."""
        if m == len(given.rows):
            return given.rows
        picks = [PICKERS[method](given, m, self._kernel.scaled, rng) for _ in range(n_draws)]
        indices, _ = min(picks, key=lambda pick: pick[1])
        if len(indices) < m:  # they explain all of the kernel
            others = rng.permutation(np.setdiff1d(given.rows, indices))
            indices = np.append(indices, others[: m - len(indices)])
        return indices

    def _draw(self, target: ProjectionDPP, n_draws: int, method: str, rng: Rng) -> Integers:
        """Return the most likely of some draws, and store its log probability."""
        chosen = sample(target, n_draws, method=method, rng=rng, progress=False).best()
        self.log_prob_ = float(target.log_prob(chosen))
        return chosen.astype(np.int64)

    def _keep(self, landmarks: Matrix, indices: Integers) -> None:
        """Store the landmarks in lexicographic order, and the inverse root of their kernel."""
        used = to_dense(landmarks[:, np.unique(landmarks.nonzero()[1])])
        order = np.lexsort(used.T[::-1]) if used.shape[1] else np.arange(len(indices))
        self.indices_ = indices[order]
        self.landmarks_ = landmarks[order]
        K = self._kernel.scaled(self.landmarks_, self.landmarks_)
        values, vectors = scipy.linalg.eigh((K + K.T) / 2)
        safe = values > rounding_share(len(K)) * values[-1]  # a pseudo-inverse
        root = np.divide(1.0, np.sqrt(np.where(safe, values, 1.0)), where=safe, out=0 * values)
        unit = self._kernel.exponent
        self.normalization_ = times_power_of_two((vectors * root) @ vectors.T, -unit // 2)
        self._n_features_out = len(indices)

    def transform(self, X: MatrixLike) -> Floats:
        """Return ``K(X, landmarks) K_mm^(-1/2)``, the Nystroem features of the rows.

        Inner products of these features approximate the kernel. They are exact where one of the two
        rows is a landmark.

        Parameters
        ----------
        X : (n, n_features) array_like, DataFrame or sparse matrix
            Rows with the features of `fit`.

        Returns
        -------
        (n, n_landmarks) array
            One row of features for each row of X.

        Examples
        --------
        >>> from zonodpp.apps import LandmarkSelector
        >>> selector = LandmarkSelector(2, gamma=0.1, random_state=0).fit([[0.0], [1.0], [9.0]])
        >>> selector.transform([[0.0], [4.0]]).shape
        (2, 2)
        """
        check_is_fitted(self)
        X = rows_for(self, X, accept_sparse="csr", reset=False)
        similarities = self._kernel.scaled(X, self.landmarks_)
        return times_power_of_two(similarities @ self.normalization_, self._kernel.exponent)

    def _set_kernel(self, X: Matrix, scale: Gamma | None) -> None:
        """Prepare the kernel for rows like those of X; ``scale`` is gamma if that is "scale"."""
        if isinstance(self.gamma, str):
            one_of(self.gamma, "gamma", ("scale",))
        else:
            scale = None if self.gamma is None else Gamma(as_positive(self.gamma, "gamma"))
        self.gamma_ = None if scale is None else float(scale)
        parameters = dict(self.kernel_params or {})
        if callable(self.kernel):
            self._kernel = Kernel(_OfRows(self.kernel, parameters))
            return
        if "gamma" in parameters:
            scale = Gamma(as_positive(parameters.pop("gamma"), "gamma"))  # type: ignore[arg-type]
        self._kernel = Kernel.of(X, self.kernel, scale, parameters)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _too_few(m: int, given: DistinctRows) -> str:
    found = f"{len(given.rows)} distinct row(s) of positive weight (n_samples={given.X.shape[0]})"
    return f"n_landmarks={m} but X has {found}; all of them are landmarks now"


@dataclass(frozen=True)
class _OfRows:
    """A function of two rows, as a function of two matrices."""

    kernel: Callable[..., float]
    parameters: dict[str, object]

    def __call__(self, X: Matrix, Y: Matrix) -> Floats:
        return np.asarray(pairwise_kernels(X, Y, self.kernel, **self.parameters))
