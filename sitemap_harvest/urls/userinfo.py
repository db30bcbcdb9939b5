"""User name and password in a URL: they belong to the client, and do not identify the document.

Spec: https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1
"""

from __future__ import annotations

import re

_USER = re.compile(r"((?:[A-Za-z][A-Za-z0-9+.\-]*:)?//)([^/?#\\]*)@", re.DOTALL)


def without_user(url: str) -> str:
    """Return *url* without a user name and a password."""
    return f"{match[1]}{url[match.end() :]}" if "@" in url and (match := _USER.match(url)) else url


def user_of(url: str) -> str | None:
    """Return the raw text before the ``@`` of the host of *url*; ``None`` if there is no ``@``."""
    match = _USER.match(url)
    return match[2] if match else None
