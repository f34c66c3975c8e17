"""Applications of the samplers: summaries of texts, landmarks of a data set, shortlists."""

from typing import TYPE_CHECKING

from zonodpp._optional import lazy

if TYPE_CHECKING:
    from zonodpp.apps.duplicates import DuplicateReport, near_duplicates
    from zonodpp.apps.landmarks import LandmarkSelector
    from zonodpp.apps.shortlists import Shortlist, shortlist
    from zonodpp.apps.summaries import Summary, summarize

__all__ = [
    "DuplicateReport",
    "LandmarkSelector",
    "Shortlist",
    "Summary",
    "near_duplicates",
    "shortlist",
    "summarize",
]

# Each module is imported on first use: each needs packages that the others do not need.
__getattr__, __dir__ = lazy(
    __name__,
    {
        "DuplicateReport": "duplicates",
        "LandmarkSelector": "landmarks",
        "Shortlist": "shortlists",
        "Summary": "summaries",
        "near_duplicates": "duplicates",
        "shortlist": "shortlists",
        "summarize": "summaries",
    },
)
