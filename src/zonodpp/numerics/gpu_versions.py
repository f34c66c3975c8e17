"""Whether the installed numba-cuda and NumPy go together; imported before the kernels are."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import numpy as np

from zonodpp._imports import on_use


def need_versions_that_fit() -> None:
    """Raise an ImportError that names the versions, if numba-cuda needs what NumPy has removed.

    numba-cuda looks functions of NumPy up when its part for arrays is imported, which is otherwise
    in the middle of the first kernel: numba-cuda 0.30.4 looks for `row_stack`, which NumPy 2.5 no
    longer has.
    """
    try:
        on_use("numba.cuda.np.arrayobj")
    except ImportError:  # no numba-cuda, or no CUDA: `need_device` says what is missing
        return
    except AttributeError as error:
        try:
            installed = version("numba-cuda")
        except PackageNotFoundError:
            installed = "of an unknown version"
        raise ImportError(
            f"device='cuda': numba-cuda {installed} and NumPy {np.__version__} do not go together "
            f"({error}); pip install 'zonodpp[cuda]' installs versions that do"
        ) from None
