"""The score of a site: one number from 0 to 100 that gets better with each rule that passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sitemap_harvest.model import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable

_REMAINS = {Severity.ERROR: 0.9, Severity.WARNING: 0.97, Severity.NOTICE: 0.99}
"""The part of the score that remains after a rule of each severity found something."""


def score(severities: Iterable[Severity]) -> int:
    """Return the score of a site, given the severity of each rule that found something.

    It is 100 without a finding, and 0 or more. Each rule counts once, however often it found something.
    """
    value = 100.0
    for severity in severities:
        value *= _REMAINS[severity]
    return int(value)  # so that 100 means that nothing was found
