"""Documents designed to slow down a validation."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from sitemap_harvest import read
from sitemap_harvest.formats.protocol import check
from tests.documents import HERE, SITEMAPS
from tests.machine import is_linear

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = f'<urlset xmlns="{SITEMAPS}">'.encode()
START = b"<url><loc>http://a.example/"
END = b"</loc></url></urlset>"
NOW = datetime(2026, 3, 9, tzinfo=UTC)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "document"),
    [
        pytest.param(20_000, lambda n: ROOT + START + b"a" * n + END, id="long-loc"),
        pytest.param(1_000, lambda n: ROOT + (START + b"%2" * 900 + b"</loc></url>") * (n // 50) + END, id="percents"),
        pytest.param(1_000, lambda n: ROOT + (START + b"/" * 2000 + b"[</loc></url>") * (n // 50) + END, id="slashes"),
        pytest.param(
            1_000, lambda n: ROOT + (b"<url><loc>http://" + b"a:" * 900 + b"</loc></url>") * (n // 50) + END, id="ports"
        ),
        pytest.param(20_000, lambda n: ROOT + b"<url/>" * n + b"</urlset>", id="empty-entries"),
        pytest.param(5_000, lambda n: ROOT + b"<url>" + b"<a/>" * n + b"</url></urlset>", id="unknown-elements"),
        pytest.param(5_000, lambda n: ROOT + (START + b"</loc></url>") * n + b"</urlset>", id="one-url"),
        pytest.param(
            2_000, lambda n: ROOT + b"<url><lastmod>" + b"1" * n + b"</lastmod></url></urlset>", id="digits-of-a-date"
        ),
        pytest.param(
            2_000, lambda n: ROOT + b"<url><priority>." + b"1" * n + b"</priority></url></urlset>", id="decimals"
        ),
    ],
)
def test_time_grows_no_faster_than_the_size(size: int, document: Callable[[int], bytes]) -> None:
    assert is_linear(lambda body: check(read(body, url=HERE), now=NOW, location=HERE), document, size)
