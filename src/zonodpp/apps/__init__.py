"""Applications: summaries, landmarks, shortlists, diverse rows of a table, designs."""

from typing import TYPE_CHECKING

from zonodpp._optional import lazy

if TYPE_CHECKING:
    from zonodpp.apps.designs import DesignRegression as DesignRegression
    from zonodpp.apps.duplicates import DuplicateReport as DuplicateReport
    from zonodpp.apps.duplicates import near_duplicates as near_duplicates
    from zonodpp.apps.landmarks import LandmarkSelector as LandmarkSelector
    from zonodpp.apps.rows import diverse_rows as diverse_rows
    from zonodpp.apps.shortlists import Shortlist as Shortlist
    from zonodpp.apps.shortlists import shortlist as shortlist
    from zonodpp.apps.summaries import Summary as Summary
    from zonodpp.apps.summaries import summarize as summarize

# Each module is imported on first use: each needs packages that the others do not need.
__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "designs": "DesignRegression",
        "duplicates": "DuplicateReport near_duplicates",
        "landmarks": "LandmarkSelector",
        "rows": "diverse_rows",
        "shortlists": "Shortlist shortlist",
        "summaries": "Summary summarize",
    },
)
