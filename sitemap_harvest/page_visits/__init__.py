"""Visits to the pages that sitemaps list, for spiders with callbacks: queue, rules and requests."""
