"""The registrable domain of a host, such as ``example.co.uk``, from the Public Suffix List.

Spec: https://github.com/publicsuffix/list/wiki/Format#algorithm. Uses the list that
comes with tldextract, including its private part, so that ``this.github.io`` and
``that.github.io`` are different. Nothing is fetched.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tldextract import TLDExtract

_NO_NAME = re.compile(r".*[^\w.\-]|(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\Z", re.IGNORECASE | re.DOTALL)
"""Hosts that are not names: with a character that names lack, such as the colon of IPv6, or with a numeric last label.
"""


def registrable_domain(host: str) -> str | None:
    """Return the registrable domain of *host* in lower case; ``None`` if it has none.

    IP addresses, public suffixes and single labels such as ``localhost`` have none.
    Under a suffix that is not in the list, such as ``internal``, it is the last two
    labels, as in the list's algorithm.
    """
    name = host.lower().removesuffix(".")
    if not name or _NO_NAME.match(name):
        return None
    found = _extract()(name)
    if found.suffix:
        return f"{found.domain}.{found.suffix}" if found.domain else None
    labels = name.split(".")
    return ".".join(labels[-2:]) if len(labels) > 1 and all(labels[-2:]) else None


@cache
def _extract() -> TLDExtract:
    """Return the extractor; the list is loaded on first use, because few runs need it."""
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
