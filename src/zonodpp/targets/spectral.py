"""What general DPPs and k-DPPs share: a kernel known by its eigenvectors, sets of any size."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zonodpp._types import Floats, Integers, Labels, MatrixLike
from zonodpp.arguments import as_items, as_matrix
from zonodpp.linalg import spectrum
from zonodpp.linalg.columns import frozen
from zonodpp.linalg.kernel import precision, read_kernel
from zonodpp.linalg.spectrum import Spectrum
from zonodpp.targets.conditioning import (
    NOISE,
    Condition,
    ImpossibleError,
    condition_kernel,
    never_together,
)
from zonodpp.targets.labels import labels_of
from zonodpp.targets.target import Arrays, Header, Objective, Target

OTHERWISE = "for features of items as rows use from_features(Phi)"  # not a kernel
LONGER = 1e7  # how much longer than all others the features are that every draw needs
ORTHONORMAL = 1e-6  # error of eigenvectors far above rounding, and far below what harms a draw


class SpectralTarget(Target):
    """A law on subsets through the eigenvalues lambda_j and eigenvectors v_j of a kernel L.

    A draw is a draw of the projection DPP of some of the eigenvectors, themselves drawn at random
    (the paper's section 2.1). Eigenvalues may be infinite, for eigenvectors that always take part.

    Attributes
    ----------
    n, r : int
        Number of items, and the most that a draw can hold: the rank of the kernel.
    vectors : (n, r) array
        Eigenvectors as columns, largest eigenvalue first.
    log_eigenvalues : (r,) array
        Logs of the eigenvalues of L.
    labels : sequence or None
        Names of the items.
    """

    vectors: Floats
    log_eigenvalues: Floats
    exact_draws = "mixture"

    def _set(self, found: Spectrum, labels: Labels | None, **more: int) -> None:
        n, r = found.vectors.shape
        if r == 0:
            raise ValueError("the kernel is zero: every draw would be empty")
        vectors, logs = frozen(found.vectors), frozen(found.logs)
        self.__dict__.update(n=n, r=r, vectors=vectors, log_eigenvalues=logs, labels=labels, **more)

    def _set_kernel(self, L: MatrixLike, **more: int) -> None:
        matrix, eps, labels = read_kernel(L, "L", OTHERWISE)
        self._set(spectrum.of_kernel(matrix, eps), labels, **more)

    @classmethod
    def _make(cls, found: Spectrum, labels: Labels | None, **more: int) -> Self:
        target = cls.__new__(cls)
        target._set(found, labels, **more)
        return target

    @classmethod
    def _of_features(cls, Phi: MatrixLike, **more: int) -> Self:
        found = spectrum.of_features(as_matrix(Phi, "Phi"), precision(Phi))
        return cls._make(found, labels_of(Phi, "index"), **more)

    @property
    def chances(self) -> Floats:
        """Chance of each eigenvector to take part."""
        raise NotImplementedError

    @cached_property
    def _sure(self) -> int:
        """Number of eigenvectors that always take part; they come first."""
        return int(np.sum(np.isposinf(self.log_eigenvalues)))

    @cached_property
    def phi(self) -> Floats:
        """Features with L = phi phi', (n, rank), without the directions of infinite eigenvalue."""
        finite = self.log_eigenvalues[self._sure :]
        return np.asarray(self.vectors[:, self._sure :] * np.exp(finite / 2))

    @property
    def sure(self) -> Floats:
        """The eigenvectors of infinite eigenvalue, (n, their number)."""
        return np.asarray(self.vectors[:, : self._sure])

    def _log_normaliser(self) -> float:
        raise NotImplementedError

    def _with(self, found: Spectrum) -> Self:
        """Return a target of the same kind with another spectrum."""
        return self._make(found, self.labels)

    def marginals(self) -> Floats:
        """Exact probability of each item.

        Examples
        --------
        >>> from zonodpp import DPP, KDPP
        >>> DPP(L=[[1.0, 0.0], [0.0, 3.0]]).marginals().round(12)
        array([0.5 , 0.75])
        >>> KDPP([[1.0, 0.0], [0.0, 3.0]], 1).marginals().round(12)
        array([0.25, 0.75])
        """
        return np.asarray((self.vectors**2) @ self.chances)

    def log_prob(self, B: ArrayLike) -> Floats:
        """Log probability of sets, normalised.

        Parameters
        ----------
        B : (..., k) array_like of int
            One set, or an array of sets; rows of fewer items are filled up with -1, as in
            `Samples.subsets`. Sets of a size that no draw has get -inf.

        Examples
        --------
        >>> import numpy as np
        >>> from zonodpp import KDPP
        >>> np.exp(KDPP(np.diag([1.0, 2.0, 3.0]), 2).log_prob([[0, 1], [0, 2], [1, 2]])).round(3)
        array([0.182, 0.273, 0.545])
        """
        rows = _as_rows(self._naming.translate(B, "B"))
        flat = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
        flat = -np.sort(-flat, axis=1)  # the filling comes last
        sizes = (flat >= 0).sum(axis=1)
        if (flat < -1).any():
            raise ValueError(f"B must hold item numbers from 0 to {self.n - 1}, got {flat.min()}")
        result = np.full(len(flat), -np.inf)
        for size in np.unique(sizes):
            chosen = sizes == size
            sets = as_items(flat[chosen, :size], self.n, "B")
            if size in self.sizes:
                result[chosen] = self._log_dets(sets) - self._log_normaliser()
        return np.asarray(result.reshape(rows.shape[:-1]))[()]

    def _log_dets(self, sets: Integers) -> Floats:
        """Log det L_B of sets of one size, (sets,); infinite eigenvalues leave their coefficient.

        Along those the set's rows are split off first; the rest is a QR of phi's rows.
        """
        count, size = sets.shape
        if size == 0:
            return np.full(count, 0.0 if self._sure == 0 else -np.inf)
        if not self._sure <= size <= self.r:
            return np.full(count, -np.inf)
        result = np.empty(count)
        step = max(1, 2**21 // (size * self.r))
        for start in range(0, count, step):
            result[start : start + step] = self._log_det_block(sets[start : start + step])
        return result

    def _log_det_block(self, sets: Integers) -> Floats:
        logs = np.zeros(len(sets))
        rows = self.phi[sets]
        with np.errstate(divide="ignore"):
            if self._sure:
                Q, R = np.linalg.qr(self.vectors[sets, : self._sure], mode="complete")
                logs += 2 * _log_diagonal(R)
                rows = np.swapaxes(Q[:, :, self._sure :], 1, 2) @ rows
            if rows.shape[1]:
                R = np.asarray(np.linalg.qr(np.swapaxes(rows, 1, 2), mode="r"))
                logs += 2 * _log_diagonal(R)
            unit = self.vectors[sets]
            lengths = np.linalg.norm(unit, axis=2, keepdims=True)
            unit = unit / np.where(lengths > 0, lengths, 1.0)
        # Dependent items leave rounding noise where an exact zero should stand.
        logs[np.linalg.svd(unit, compute_uv=False)[:, -1] < NOISE * self.r] = -np.inf
        return logs

    def _given(self, condition: Condition) -> Self:
        if not self._sure and self._log_dets(condition.include[None])[0] == -np.inf:
            raise never_together(condition.include, "their features are linearly dependent")
        sure, phi = condition_kernel(self.sure, self.phi, condition)
        if not sure.shape[1] and not phi.any():
            raise ImpossibleError("no item is left to draw; exclude fewer items")
        return self._with(spectrum.of_features(phi).joined(sure))

    def size_to_maximise(self, k: int | None, ridge: float) -> int | None:
        """Return k, unless more items than that are in every draw."""
        if k is not None and k < self._sure:
            raise ValueError(f"{self._sure} items are in every draw of this target, got k = {k}")
        return k

    def objective(self, k: int | None, ridge: float) -> Objective:
        """Return features of the kernel; eigenvectors of infinite eigenvalue are very long ones."""
        sure, finite = self._sure, self.log_eigenvalues[self._sure :]
        if k == self.r and not ridge:  # determinants of all features differ by one factor alone
            return Objective(self.vectors, float(finite.sum()))
        size = max(float(np.linalg.norm(self.phi, axis=1).max(initial=0.0)), np.sqrt(ridge))
        # A free size goes on as long as items raise the determinant, as infinite ones must.
        length = LONGER * (max(size, 1.0) if k is None else size or 1.0)
        features = np.column_stack([length * self.sure, self.phi])
        return Objective(features, -2 * sure * float(np.log(length)))

    def stored(self) -> tuple[Header, Arrays]:
        """Return what a file holds of the target: a header, with its labels, and arrays."""
        return {"labels": self.labels}, {"vectors": self.vectors, "logs": self.log_eigenvalues}

    @classmethod
    def restored(cls, header: Header, arrays: Arrays) -> Self:
        """Make the target that `stored` took apart, after checks of what a file may hold."""
        return cls._make(read_spectrum(arrays), header["labels"])


def read_spectrum(arrays: Arrays) -> Spectrum:
    """Return the spectrum that `SpectralTarget.stored` wrote, after checks of what a file may hold.

    Draws end because eigenvectors are orthonormal; those of infinite eigenvalue come first.
    """
    vectors, logs = arrays["vectors"], arrays["logs"]
    n, r = vectors.shape
    if not vectors.dtype == logs.dtype == np.float64 or r > n or logs.shape != (r,):
        raise ValueError(f"eigenvectors are {vectors.dtype} {vectors.shape}")
    if not np.isfinite(logs[np.isposinf(logs).sum() :]).all():
        raise ValueError("the eigenvalues are not those of a kernel")
    error = np.abs(vectors.T @ vectors - np.eye(r)).max()
    if not error < ORTHONORMAL:
        raise ValueError(f"the eigenvectors are not orthonormal (off by {error:.1g})")
    return Spectrum(vectors, logs)


def _as_rows(B: ArrayLike) -> NDArray[np.int64]:
    """Return one set, or an array of sets filled up with -1, as an array of integers."""
    try:
        rows = np.atleast_1d(sorted(B) if isinstance(B, set | frozenset) else B)
    except ValueError:
        raise ValueError("B must hold rows of one length; fill smaller sets up with -1") from None
    if rows.size and not np.issubdtype(rows.dtype, np.integer):
        raise TypeError(f"B must hold item numbers (integers from 0), got {rows.dtype} entries")
    return rows.astype(np.int64)


def _log_diagonal(R: Floats) -> Floats:
    return np.asarray(np.log(np.abs(np.diagonal(R, axis1=1, axis2=2))).sum(axis=1))
