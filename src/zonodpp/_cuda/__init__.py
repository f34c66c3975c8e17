"""The samplers on a GPU, by numba-cuda: ``sample(target, device="cuda")``."""
