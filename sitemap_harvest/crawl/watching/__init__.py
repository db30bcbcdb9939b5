"""What is told of a run beside its items: its id, a log in JSON, metrics, and the closing record.

:mod:`~sitemap_harvest.crawl.watching.switch` puts into a run what its settings
ask for; nothing is loaded for what they do not.
"""
