"""Browser support for documents behind challenge pages that admit only browsers.

Scrapy requests each document first. A browser starts only if
:mod:`sitemap_harvest.browser.challenge` decides that it is needed, and only then is
Playwright imported.
"""
