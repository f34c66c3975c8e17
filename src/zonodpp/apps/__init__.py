"""Applications of the samplers: summaries of texts, landmarks of a data set, shortlists."""

from typing import TYPE_CHECKING

from zonodpp._optional import lazy

if TYPE_CHECKING:
    from zonodpp.apps.landmarks import LandmarkSelector
    from zonodpp.apps.shortlists import Shortlist, shortlist
    from zonodpp.apps.summaries import Summary, summarize

__all__ = ["LandmarkSelector", "Shortlist", "Summary", "shortlist", "summarize"]

# Each module is imported on first use: each needs packages that the others do not need.
_HOMES = {"LandmarkSelector": "landmarks", "Shortlist": "shortlists", "shortlist": "shortlists"}
__getattr__, __dir__ = lazy(__name__, _HOMES | {"Summary": "summaries", "summarize": "summaries"})
