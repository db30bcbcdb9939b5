"""Whether to ask again, and when, a server that asks for patience.

Specs: https://www.rfc-editor.org/rfc/rfc9110#field.retry-after, https://www.rfc-editor.org/rfc/rfc6585#section-4
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sitemap_harvest.dates import read_date

if TYPE_CHECKING:
    from datetime import datetime

_SECONDS = re.compile(r"\d{1,20}", re.ASCII)
_WITHOUT_WORD = 5.0  # seconds, doubled each time: what a server gets that says 429 and not for how long


def asked_wait(status: int, retry_after: str | None, attempt: int, now: datetime) -> float | None:
    """Return for how many seconds a server wants to be left alone; ``None`` if it does not say that it does.

    *status* and *retry_after* (the header, ``None`` if absent) are of its
    answer, *attempt* is how often it was asked again before.
    """
    if status not in {429, 503}:
        return None
    seconds = _read(retry_after, now)
    if seconds is None and status == 429:
        return _WITHOUT_WORD * float(2**attempt)
    return seconds


def _read(retry_after: str | None, now: datetime) -> float | None:
    text = (retry_after or "").strip()
    if _SECONDS.fullmatch(text):
        return float(text)
    date = read_date(text) if text else None
    return max(0.0, (date.value - now).total_seconds()) if date else None
