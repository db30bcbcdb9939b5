"""``BoundedRobotParser``: Scrapy's robots.txt parser, limited to the first 512 KiB.

Spec: https://www.rfc-editor.org/rfc/rfc9309#section-2.5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.robotstxt import ProtegoRobotParser

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_MOST_BYTES = 512 * 1024  # the specification requires 500 KiB, and Google reads no more


class BoundedRobotParser(ProtegoRobotParser):
    """Reads the first 512 KiB of a robots.txt: a rule takes twenty times its size in memory."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        """Return the parser of *robotstxt_body*, without the line that the limit cuts."""
        if len(robotstxt_body) > _MOST_BYTES:
            robotstxt_body = robotstxt_body[:_MOST_BYTES].rpartition(b"\n")[0]
        return super().from_crawler(crawler, robotstxt_body)
