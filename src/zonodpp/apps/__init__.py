"""Applications: summaries, landmarks, shortlists, diverse rows of a table, designs."""

from typing import TYPE_CHECKING

from zonodpp._optional import lazy

if TYPE_CHECKING:
    from zonodpp.apps.designs import DesignRegression
    from zonodpp.apps.duplicates import DuplicateReport, near_duplicates
    from zonodpp.apps.landmarks import LandmarkSelector
    from zonodpp.apps.rows import diverse_rows
    from zonodpp.apps.shortlists import Shortlist, shortlist
    from zonodpp.apps.summaries import Summary, summarize

__all__ = [
    "DesignRegression",
    "DuplicateReport",
    "LandmarkSelector",
    "Shortlist",
    "Summary",
    "diverse_rows",
    "near_duplicates",
    "shortlist",
    "summarize",
]

# Each module is imported on first use: each needs packages that the others do not need.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "DesignRegression": "designs",
        "DuplicateReport": "duplicates",
        "LandmarkSelector": "landmarks",
        "Shortlist": "shortlists",
        "Summary": "summaries",
        "diverse_rows": "rows",
        "near_duplicates": "duplicates",
        "shortlist": "shortlists",
        "summarize": "summaries",
    },
)
