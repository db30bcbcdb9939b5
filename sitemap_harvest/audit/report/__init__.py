"""The report of the audit for people: one HTML file that needs no network."""

from sitemap_harvest.audit.report.html import render

__all__ = ["render"]
