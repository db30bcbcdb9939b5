"""Browser support for documents behind challenge pages that admit only browsers.

Scrapy requests each document first. A browser starts only if
:mod:`sitemap_harvest.browser.challenge` decides that it is needed:
:mod:`~sitemap_harvest.browser.setup` adds the support to a run, and nothing else here
is imported without it.
"""
