"""``sitemap-harvest``: the command line of the package, inside or outside a Scrapy project."""
