"""Features for DPPs when what you have is data, a kernel function or a kernel matrix.

Only builders that scikit-learn lacks are here. The transformers of scikit-learn serve as well:
``ProjectionDPP.from_features(Nystroem(n_components=20).fit_transform(X))``.

Every builder returns an (n, m) array Phi with items as rows, so that ``Phi @ Phi.T`` is the kernel
or close to it. The array goes straight into ``ProjectionDPP.from_features(Phi)`` (draws of m items)
or ``DPP.from_features(Phi)`` (draws of any size).
"""

from zonodpp.features.kernels import check_psd, nearest_psd, pivoted_cholesky, rp_cholesky
from zonodpp.features.similarity import median_gamma, quality_diversity, similarity, standardize

__all__ = [
    "check_psd",
    "median_gamma",
    "nearest_psd",
    "pivoted_cholesky",
    "quality_diversity",
    "rp_cholesky",
    "similarity",
    "standardize",
]
