"""Tests of web archives, without Scrapy."""
