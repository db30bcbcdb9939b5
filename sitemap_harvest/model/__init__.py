"""The records of the package: URLs, documents, sites, changes, problems, and batches of them as Arrow columns."""

from sitemap_harvest.model.batch import MAX_ROWS, Batch, ChangeBatch, LedgerBatch, SiteBatch, SummaryBatch, UrlBatch
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
from sitemap_harvest.model.document_record import Cause, FoundBy, Outcome, SitemapRecord
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
from sitemap_harvest.model.problem import Problem, Sample
from sitemap_harvest.model.problem_types import CATALOGUE, ProblemType, Reliability, Severity
from sitemap_harvest.model.schema import SCHEMA_VERSION, arrow_schema
from sitemap_harvest.model.site_record import Evidence, SiteRecord, SiteResult
from sitemap_harvest.model.sitemap_ref import SitemapRef

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
    "Reliability",
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
