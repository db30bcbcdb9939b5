"""Audits of small stores, made without a crawl or by a run of the engine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sitemap_harvest.audit.audit import Audit
from sitemap_harvest.config.arguments import RunConfig
from sitemap_harvest.config.settings import HarvestSettings
from sitemap_harvest.engine.snapshot_session import SnapshotSession
from sitemap_harvest.model.run import new_run_id
from tests.engine.run import Web, harvest
from tests.snapshots.store.making import SITE, Making

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sitemap_harvest.audit import RuleOptions
    from sitemap_harvest.model import Finding

SITEMAP = f"{SITE}/sitemap.xml"
Sites = dict[str, Any]
"""The content of each document of a site, as for :meth:`Making.run`."""


def findings_of(path: Path, *runs: Sites, options: Mapping[str, RuleOptions] | None = None) -> list[Finding]:
    """Return the findings of the last of *runs*, each of which is stored at *path*."""
    making = Making(path, compares=True)
    snapshots = [making.run(documents) for documents in runs]
    return [*Audit(snapshots[-1], making.store.history(SITE), options).findings()]


def findings_of_web(path: Path, *webs: Web, site: str = SITE) -> list[Finding]:
    """Return the findings of the last of several runs of the engine over *site*, which serves *webs* in turn."""
    arguments = {"site": site, "store": str(path), "emit": "sites"}
    for web in webs:
        now = datetime.now(UTC)
        session = SnapshotSession(
            str(path),
            RunConfig.of(arguments),
            HarvestSettings(),
            lambda _name, _by: None,
            run_id=new_run_id(now),
            started_at=now,
            fail=lambda: None,
        )
        harvest(web, session=session, **arguments)
    history = session.store.history(site)
    return [*Audit(history.at("latest"), history).findings()]


def of_rule(findings: list[Finding], rule: str) -> list[Finding]:
    """Return the findings of *rule*."""
    return [finding for finding in findings if finding.rule == rule]
