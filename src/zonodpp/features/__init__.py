"""Features for DPPs when what you have is data, a kernel function or a kernel matrix.

Every builder returns an (n, m) array Phi with items as rows, so that ``Phi @ Phi.T`` is the kernel
or close to it. It goes straight into ``ProjectionDPP.from_features(Phi)`` (draws of m items) or
``DPP.from_features(Phi)`` (draws of any size).
"""

from zonodpp.features.cholesky import pivoted_cholesky, rp_cholesky
from zonodpp.features.fourier import random_fourier
from zonodpp.features.nystrom import nystrom
from zonodpp.features.principal import principal_components
from zonodpp.features.projection import random_projection
from zonodpp.features.quality import quality_diversity
from zonodpp.features.repair import check_psd, nearest_psd
from zonodpp.features.similarity import median_gamma, similarity, standardize

__all__ = [
    "check_psd",
    "median_gamma",
    "nearest_psd",
    "nystrom",
    "pivoted_cholesky",
    "principal_components",
    "quality_diversity",
    "random_fourier",
    "random_projection",
    "rp_cholesky",
    "similarity",
    "standardize",
]
