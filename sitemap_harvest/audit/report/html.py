"""Renders the report as HTML, with Jinja2 templates that escape everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jinja2

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sitemap_harvest.audit.site_audit import SiteAudit


def render(audits: Sequence[SiteAudit]) -> bytes:
    """Return the report of *audits*."""
    template = _environment().get_template("report.html")
    return template.render(audits=audits).encode()


def _environment() -> jinja2.Environment:
    loader = jinja2.PackageLoader("sitemap_harvest.audit.report", "")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
