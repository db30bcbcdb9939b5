"""The rules of the audit, in a module for each subject."""

from sitemap_harvest.audit.rules import change as change
from sitemap_harvest.audit.rules import duplicates as duplicates
from sitemap_harvest.audit.rules import hreflang as hreflang
from sitemap_harvest.audit.rules import lastmod as lastmod
from sitemap_harvest.audit.rules import media as media
from sitemap_harvest.audit.rules import page as page
from sitemap_harvest.audit.rules import protocol as protocol
from sitemap_harvest.audit.rules import site as site
from sitemap_harvest.audit.rules import sitemap as sitemap
from sitemap_harvest.audit.rules import url as url
