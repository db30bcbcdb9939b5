"""Codes of languages, scripts and countries, from the registry of the IANA."""

from __future__ import annotations

from functools import cache, lru_cache

from langcodes.registry_parser import parse_registry

_NO_COUNTRIES = frozenset(["ac", "cp", "dg", "ea", "eu", "ez", "ic", "ta", "un"])
"""Region subtags that are only reserved in ISO 3166-1."""


@cache
def _subtags(kind: str) -> frozenset[str]:
    """Return the subtags of that *kind* in lower case, except deprecated and private ones."""
    registry = parse_registry()  # type: ignore[no-untyped-call]  # a generator of dictionaries
    found = (entry for entry in registry if entry["Type"] == kind and "Deprecated" not in entry)
    return frozenset(str(entry["Subtag"]).lower() for entry in found if ".." not in str(entry["Subtag"]))


@lru_cache(maxsize=4096)
def is_language(code: str) -> bool:
    """Whether *code* is a language of ISO 639-1, ISO 639-2 or ISO 639-3, in any case."""
    return code.lower() in _subtags("language") | {"iw", "in", "ji"}  # former codes, still in use


@lru_cache(maxsize=4096)
def hreflang_flaw(code: str) -> str:
    """Return why *code* is not a valid ``hreflang`` value; empty if it is.

    A value is ``x-default``, or a language of ISO 639-1, optionally with a script of
    ISO 15924 and a country of ISO 3166-1. Spec:
    https://developers.google.com/search/docs/specialty/international/localized-versions
    """
    text = code.strip().lower()
    language, *rest = text.split("-")
    script = rest.pop(0) if rest and len(rest[0]) == 4 else None
    country = "-".join(rest)
    if "_" in text:
        return "it has an underscore instead of a hyphen"
    if text != "x-default" and (len(language) != 2 or not is_language(language)):
        return f"{language or 'an empty value'} is not an ISO 639-1 language"
    if script is not None and script not in _subtags("script"):
        return f"{script} is not an ISO 15924 script"
    if text != "x-default" and rest and not _is_country(country):
        return f"{country} is not an ISO 3166-1 country"
    return ""


def _is_country(code: str) -> bool:
    return len(code) == 2 and code in _subtags("region") and code not in _NO_COUNTRIES
