"""User name and password in an address: they are for who asks, and no part of what it names.

Spec: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1
"""

from __future__ import annotations

import re

_USER = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.\-]*:)?//)([^/?#\\]*)@", re.DOTALL)


def without_user(url: str) -> str:
    """Return *url* without a user name and a password."""
    return f"{match[1]}{url[match.end() :]}" if "@" in url and (match := _USER.match(url)) else url


def user_of(url: str) -> str | None:
    """Return what stands before the ``@`` of the host of *url*, as it is written; ``None`` if there is no ``@``."""
    match = _USER.match(url)
    return match[2] if match else None
