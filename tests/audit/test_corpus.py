"""The audit of each document from the web: no rule fails, and each finding is bounded and clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.audit.auditing import audit_of_web
from tests.corpus.test_corpus import CORPUS, FILES
from tests.rings import some_quick

if TYPE_CHECKING:
    from pathlib import Path

    from sitemap_harvest.audit.audit import Audit

pytestmark = pytest.mark.skipif(not FILES, reason="there is no corpus: name its folder in HARVEST_CORPUS")


def audit_of_file(path: str, folder: Path) -> Audit:
    """Return the audit of a file of the corpus."""
    url = FILES[path]["url"] or f"https://example.com/{path}"
    return audit_of_web(folder, {url: (CORPUS / path).read_bytes()}, sitemap=url)


@pytest.mark.parametrize("path", some_quick(FILES, every=400))
def test_no_rule_fails_and_each_finding_is_bounded(path: str, tmp_path: Path) -> None:
    audit = audit_of_file(path, tmp_path)
    for finding in audit.findings():
        assert finding.count >= 1
        assert len(finding.samples) <= 5
        assert finding.share is None or 0 <= finding.share <= 1, finding
        assert "None" not in finding.message, finding
        assert len(finding.message) < 1_000, finding
    reasons = {one.reason for one in audit.summary().not_checked}
    assert not [reason for reason in reasons if reason.startswith("the rule failed")]
