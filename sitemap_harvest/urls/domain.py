"""The registrable domain of a host: the part that one party has registered, such as ``example.co.uk``.

Spec: https://github.com/publicsuffix/list/wiki/Format#algorithm
From the list that comes with tldextract, also its private part, so that
``this.github.io`` and ``that.github.io`` are two. Nothing is fetched.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tldextract import TLDExtract

_NO_NAME = re.compile(r".*[^\w.\-]|(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\Z", re.IGNORECASE | re.DOTALL)
"""What is no name: one with a sign that none has, such as the colon of IPv6, or with a number as its last label."""


def registrable_domain(host: str) -> str | None:
    """Return the registrable domain of *host* in lower case; ``None`` for one that has none.

    Those are IP addresses, public suffixes and single names such as
    ``localhost``. Under an ending that the list does not have, ``internal`` for
    one, it is the last two labels, as the list's own algorithm has it.
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
    """Return what knows the list: it is read when it is first asked for, as few runs need it."""
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True)
