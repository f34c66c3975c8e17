# The public names and their modules, for type checkers and for `zonodpp._optional.lazy`.

from zonodpp.apps.designs import DesignRegression as DesignRegression
from zonodpp.apps.duplicates import DuplicateReport as DuplicateReport
from zonodpp.apps.duplicates import near_duplicates as near_duplicates
from zonodpp.apps.landmarks import LandmarkSelector as LandmarkSelector
from zonodpp.apps.rows import diverse_rows as diverse_rows
from zonodpp.apps.shortlists import Shortlist as Shortlist
from zonodpp.apps.shortlists import shortlist as shortlist
from zonodpp.apps.summaries import Summary as Summary
from zonodpp.apps.summaries import summarize as summarize
