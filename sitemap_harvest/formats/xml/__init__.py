"""Readers of XML sitemaps and indexes: a fast path, a strict parser and a tolerant parser."""
