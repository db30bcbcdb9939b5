"""Text that goes out of the process: without credentials."""

from __future__ import annotations

import re
from typing import Any

_IN_ADDRESS = re.compile(r"(?<=//)[^/?#\\\s]*@")
_NAMES = re.compile(r"pass(?:w|phrase|$)|secret|token|api_?key|credential|auth(?!or)", re.IGNORECASE)
_INSTEAD = "***"


def without_credentials(value: Any, *, name: str = "") -> Any:
    """Return *value*, which is plain data, without what stands before ``@`` in its addresses.

    What has a *name* that speaks of a secret is left out altogether.
    """
    if isinstance(value, dict):
        return {key: without_credentials(one, name=str(key)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_credentials(one, name=name) for one in value]
    if value is not None and _NAMES.search(name):
        return _INSTEAD
    return _IN_ADDRESS.sub("", value) if isinstance(value, str) else value
