"""The audit: what is wrong with the sitemaps of a site, as data. SQL over one snapshot and its history."""

from sitemap_harvest.audit import rules as rules  # registers them
from sitemap_harvest.audit.rule import RULES, AuditRule, RuleOptions, rule

__all__ = ["RULES", "AuditRule", "RuleOptions", "rule"]
