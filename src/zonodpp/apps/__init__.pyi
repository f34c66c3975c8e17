# The public names and their modules, for type checkers and for `zonodpp._imports.lazy`.

from zonodpp.apps.batches import next_batch as next_batch
from zonodpp.apps.columns.interpolative import CUR as CUR
from zonodpp.apps.columns.interpolative import Interpolation as Interpolation
from zonodpp.apps.columns.interpolative import cur as cur
from zonodpp.apps.columns.interpolative import interpolative as interpolative
from zonodpp.apps.columns.selector import ColumnSelector as ColumnSelector
from zonodpp.apps.coresets import Coreset as Coreset
from zonodpp.apps.coresets import coreset as coreset
from zonodpp.apps.designs import DesignRegression as DesignRegression
from zonodpp.apps.duplicates import Duplicates as Duplicates
from zonodpp.apps.duplicates import deduplicate as deduplicate
from zonodpp.apps.landmarks.selector import LandmarkSelector as LandmarkSelector
from zonodpp.apps.minibatches import DiverseBatchSampler as DiverseBatchSampler
from zonodpp.apps.optimal_designs import optimal_design as optimal_design
from zonodpp.apps.rows import diverse_rows as diverse_rows
from zonodpp.apps.shortlists.duplicates import DuplicateReport as DuplicateReport
from zonodpp.apps.shortlists.duplicates import near_duplicates as near_duplicates
from zonodpp.apps.shortlists.shortlist import Shortlist as Shortlist
from zonodpp.apps.shortlists.shortlist import shortlist as shortlist
from zonodpp.apps.summaries.summarize import Summary as Summary
from zonodpp.apps.summaries.summarize import summarize as summarize
