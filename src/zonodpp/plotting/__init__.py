"""Pictures of chains and of the zonotope, made with matplotlib (``zonodpp[plot]``).

Every function draws on ``ax`` and returns it. Without ``ax`` it draws on pyplot's current axes if
they are still empty, else on a new figure: ``plt.show()``, ``plt.savefig(path)`` and notebooks see
it, and ``ax.figure`` is the figure itself.
"""

from zonodpp._imports import lazy

# The names are listed in __init__.pyi. Each is imported on first use.
__getattr__, __dir__, __all__ = lazy(__name__)
