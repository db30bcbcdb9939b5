"""Converts columns to the text of JSON, CSV and XML files. Knows neither files nor Scrapy."""

from sitemap_harvest.export.csv import csv_header, csv_lines
from sitemap_harvest.export.json import json_objects
from sitemap_harvest.export.text_columns import utf8_bytes
from sitemap_harvest.export.xml import without_forbidden, xml_elements

__all__ = ["csv_header", "csv_lines", "json_objects", "utf8_bytes", "without_forbidden", "xml_elements"]
