"""The paper's experiments again, as one report: ``python -m paper`` in the source checkout.

`reproduce` runs them, writes data and figures, and judges what the paper says by the data. Each
experiment is a file with three functions: ``run`` makes plain data, ``figures`` and ``verdicts``
read that data alone.
"""

from paper.report import NAMES, SEED, Report, reproduce
from paper.verdicts import Verdict

__all__ = ["NAMES", "SEED", "Report", "Verdict", "reproduce"]
