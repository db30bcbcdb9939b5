"""Readers of HTML pages: page kind, HTML sitemaps, hints to sitemaps and feeds, and browser viewers."""
