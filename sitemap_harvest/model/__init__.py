"""The records that travel through the package, and their columns."""

from sitemap_harvest.model.batch import (
    MAX_ROWS,
    Batch,
    ChangeBatch,
    LedgerBatch,
    SiteBatch,
    SummaryBatch,
    UrlBatch,
)
from sitemap_harvest.model.catalogue import CATALOGUE, Doubt, ProblemType, Severity
from sitemap_harvest.model.change import (
    Change,
    ChangeKind,
    ChangeSummary,
    Difference,
    LeftSitemap,
    MassChange,
    Rename,
    StaleSitemap,
)
from sitemap_harvest.model.entry import (
    Alternate,
    Attribute,
    DataObject,
    Extra,
    Image,
    News,
    Price,
    Restriction,
    UrlEntry,
    Video,
)
from sitemap_harvest.model.kind import Kind
from sitemap_harvest.model.ledger import Cause, FoundBy, Outcome, SitemapRecord
from sitemap_harvest.model.problem import Problem, Sample
from sitemap_harvest.model.ref import SitemapRef
from sitemap_harvest.model.schema import SCHEMA_VERSION, arrow_schema
from sitemap_harvest.model.site import Evidence, SiteRecord, SiteResult

__all__ = [
    "CATALOGUE",
    "MAX_ROWS",
    "SCHEMA_VERSION",
    "Alternate",
    "Attribute",
    "Batch",
    "Cause",
    "Change",
    "ChangeBatch",
    "ChangeKind",
    "ChangeSummary",
    "DataObject",
    "Difference",
    "Doubt",
    "Evidence",
    "Extra",
    "FoundBy",
    "Image",
    "Kind",
    "LedgerBatch",
    "LeftSitemap",
    "MassChange",
    "News",
    "Outcome",
    "Price",
    "Problem",
    "ProblemType",
    "Rename",
    "Restriction",
    "Sample",
    "Severity",
    "SiteBatch",
    "SiteRecord",
    "SiteResult",
    "SitemapRecord",
    "SitemapRef",
    "StaleSitemap",
    "SummaryBatch",
    "UrlBatch",
    "UrlEntry",
    "Video",
    "arrow_schema",
]
