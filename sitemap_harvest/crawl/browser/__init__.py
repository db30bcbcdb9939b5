"""A browser, for documents that stand behind a page which only lets browsers in.

Scrapy asks first, and a browser is started where :mod:`sitemap_harvest.plan.fallback`
tells that it is needed: :mod:`~sitemap_harvest.crawl.browser.switch` puts this
into a run, and nothing here is imported without it.
"""
