"""Batches of items in Scrapy: item processor, feeds, exporters and counts."""
