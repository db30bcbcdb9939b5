"""A spider of the project, derived from ours."""

from sitemap_harvest.spiders.harvest import HarvestSpider


class HarvestedSpider(HarvestSpider):
    name = "harvested"

    def parse(self, response, entry):
        yield {"url": response.url, "title": "page", "listed_in": entry.sitemap}
