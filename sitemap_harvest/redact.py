"""Redaction: removes credentials from what leaves the process. Imports nothing from the package."""

from __future__ import annotations

import re
from typing import Any

_WORD = re.compile(r"\S+")
_BEFORE_HOST = re.compile(r"(?<=//).*@", re.DOTALL)
_WITHOUT_SCHEME = re.compile(r"(?<![^'\"=(])[^'\"=(]+:(?!//).*@", re.DOTALL)
_AFTER_PORT = r"[/?#'\"\s]|[:,;.)\]]*['\"]?(?:\s|\Z)|[,;](?:https?://|[\w-]+[.:])"
_NO_PORT = re.compile(rf"(//[^\s/@:\[\]]*:)(?!\d*(?:{_AFTER_PORT}))\S+?(?=['\"]?[:,]?(?:\s|\Z))")
_USER = re.compile(r"(?<=//)[^/?#\\\s]*@")
_SECRET_NAME = re.compile(r"pass(?:w|phrase|$)|secret|token|api[_-]?key|credential|auth(?!or)", re.IGNORECASE)
_PASSWORD = re.compile(r"('\w+_(?:PASS|PASSWORD|SECRET\w*|TOKEN)': ).*?(?=,\s'[A-Z_0-9]+':|\}\Z)", re.DOTALL)


def without_login(text: str) -> str:
    """Return *text* with ``***`` for possible user names and passwords in its URLs.

    For messages about invalid URLs: there a password may contain a character that ends
    the host name.
    """
    return _NO_PORT.sub(r"\1***", _WORD.sub(_word_without_login, text))


def _word_without_login(word: re.Match[str]) -> str:
    # Only up to the last @, where each search succeeds at once: a value may be long.
    before, sign, rest = word[0].rpartition("@")
    return _WITHOUT_SCHEME.sub("***@", _BEFORE_HOST.sub("***@", before + sign)) + rest


def suggests_secret(name: str) -> bool:
    """Whether the *name* of a value, such as ``api_key``, suggests that the value is a secret."""
    return _SECRET_NAME.search(name) is not None


def without_credentials(value: Any, *, name: str = "") -> Any:
    """Return *value*, plain data, without the part before ``@`` in its URLs.

    A value whose *name* suggests a secret is removed completely.
    """
    if isinstance(value, dict):
        return {key: without_credentials(one, name=str(key)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_credentials(one, name=name) for one in value]
    if value is not None and suggests_secret(name):
        return "***"
    return _USER.sub("", value) if isinstance(value, str) else value


def without_passwords(settings: str) -> str:
    """Return *settings*, the text of a dictionary, with ``***`` for passwords, such as ``HTTPAUTH_PASS``."""
    return _PASSWORD.sub(r"\1'***'", settings)
