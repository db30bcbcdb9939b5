"""The records of the package: URLs, documents, sites, changes, problems, and batches of them as Arrow columns."""

from sitemap_harvest.display import counted as counted
from sitemap_harvest.model.batch import (
    MAX_ROWS as MAX_ROWS,
    SCHEMA_VERSION as SCHEMA_VERSION,
    AuditBatch as AuditBatch,
    Batch as Batch,
    ChangeBatch as ChangeBatch,
    FindingBatch as FindingBatch,
    LedgerBatch as LedgerBatch,
    OccurrenceBatch as OccurrenceBatch,
    PageBatch as PageBatch,
    ReferenceBatch as ReferenceBatch,
    SiteBatch as SiteBatch,
    SummaryBatch as SummaryBatch,
    TrustBatch as TrustBatch,
    UrlBatch as UrlBatch,
    arrow_schema as arrow_schema,
    plain_values as plain_values,
)
from sitemap_harvest.model.change import (
    REDIRECTS_TO as REDIRECTS_TO,
    WAS_ABSENT as WAS_ABSENT,
    Change as Change,
    ChangeKind as ChangeKind,
    ChangeSummary as ChangeSummary,
    Difference as Difference,
    LeftSitemap as LeftSitemap,
    MassChange as MassChange,
    Rename as Rename,
    StaleSitemap as StaleSitemap,
    counts_in_words as counts_in_words,
    unread_in_words as unread_in_words,
)
from sitemap_harvest.model.entry import (
    CHANGEFREQS as CHANGEFREQS,
    Alternate as Alternate,
    Attribute as Attribute,
    DataObject as DataObject,
    Extra as Extra,
    Image as Image,
    News as News,
    Price as Price,
    Restriction as Restriction,
    UrlEntry as UrlEntry,
    Video as Video,
)
from sitemap_harvest.model.finding import (
    AuditSummary as AuditSummary,
    Finding as Finding,
    FindingSample as FindingSample,
    LastmodTrust as LastmodTrust,
    NotChecked as NotChecked,
    Occurrence as Occurrence,
)
from sitemap_harvest.model.item import ItemRecord as ItemRecord
from sitemap_harvest.model.page import (
    PageRecord as PageRecord,
    PageSource as PageSource,
    left_out_in_words as left_out_in_words,
    requested_in_words as requested_in_words,
)
from sitemap_harvest.model.problem import (
    CATALOGUE as CATALOGUE,
    Problem as Problem,
    ProblemType as ProblemType,
    Reliability as Reliability,
    Sample as Sample,
    Severity as Severity,
)
from sitemap_harvest.model.records import (
    NO_ROBOTS as NO_ROBOTS,
    READ_SEPARATELY as READ_SEPARATELY,
    Cause as Cause,
    Evidence as Evidence,
    FoundBy as FoundBy,
    Kind as Kind,
    Outcome as Outcome,
    SitemapRecord as SitemapRecord,
    SitemapRef as SitemapRef,
    SiteRecord as SiteRecord,
    SiteResult as SiteResult,
    is_read_separately as is_read_separately,
)
