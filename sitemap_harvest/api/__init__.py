"""``harvest()``: a run from Python, in a process of its own, with its results as tables. Knows no Scrapy."""

from sitemap_harvest.api.result import HarvestProcessError, HarvestResult
from sitemap_harvest.api.run import harvest
from sitemap_harvest.api.table import ResultTable

__all__ = ["HarvestProcessError", "HarvestResult", "ResultTable", "harvest"]
