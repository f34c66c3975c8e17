# The public names and their modules, for type checkers and for `zonodpp._optional.lazy`.

from zonodpp.apps._column_selector import ColumnSelector as ColumnSelector
from zonodpp.apps._columns import CUR as CUR
from zonodpp.apps._columns import Interpolation as Interpolation
from zonodpp.apps._columns import cur as cur
from zonodpp.apps._columns import interpolative as interpolative
from zonodpp.apps._designs import DesignRegression as DesignRegression
from zonodpp.apps._duplicates import DuplicateReport as DuplicateReport
from zonodpp.apps._duplicates import near_duplicates as near_duplicates
from zonodpp.apps._landmarks import LandmarkSelector as LandmarkSelector
from zonodpp.apps._rows import diverse_rows as diverse_rows
from zonodpp.apps._shortlists import Shortlist as Shortlist
from zonodpp.apps._shortlists import shortlist as shortlist
from zonodpp.apps._summaries import Summary as Summary
from zonodpp.apps._summaries import summarize as summarize
