"""The rules of the audit, in a module for each subject."""

from sitemap_harvest.audit.rules import site as site, sitemap as sitemap, url as url
