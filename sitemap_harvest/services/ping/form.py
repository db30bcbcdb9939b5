"""From a request to what it says: a sitemap and a token.

Spec: https://url.spec.whatwg.org/#application/x-www-form-urlencoded for the
fields, https://www.rfc-editor.org/rfc/rfc6750 for the token.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from sitemap_harvest.services.ping.refusal import Code, Refused

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_BODY_BYTES = 16 * 1024  # 2,048 characters, each escaped to three, and a token
_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request."""

    method: str
    query: bytes = b""
    """What stands behind the question mark of its address."""
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The values of each header, by its name in lower case."""
    body: bytes | None = b""
    """``None`` if it is longer than :data:`MAX_BODY_BYTES`."""
    peer: str = ""
    """The address of who has sent it."""

    def header(self, name: str) -> str:
        """Return the value of a header that may be there once."""
        values = self.headers.get(name, ())
        if len(values) > 1:
            raise Refused(Code.BAD_FORM, f"the header {name} is there more than once")
        return values[0] if values else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a ping says."""

    sitemap: str
    """Decoded once; empty if it is missing."""
    token: str = field(repr=False)
    """Empty if there is none."""


def read_form(received: Received) -> Form:
    """Return what *received*, a GET or POST, says. Raises :exc:`Refused`."""
    if received.method == "GET":
        fields = _fields(received.query)
        if "token" in fields:
            raise Refused(Code.BAD_FORM, "a token in an address ends up in logs: send it in the header Authorization")
    else:
        if received.query:
            raise Refused(Code.BAD_FORM, "the fields of a POST belong in its body, not in the address")
        fields = _fields(_body(received))
    tokens = {token for token in (_bearer(received), fields.get("token", "")) if token}
    if len(tokens) > 1:
        raise Refused(Code.BAD_FORM, "the request has more than one token")
    return Form(sitemap=fields.get("sitemap", ""), token="".join(tokens))


def allowed(*, get: bool) -> str:
    """Return the methods that are allowed, as the header ``Allow`` has them."""
    return "GET, POST, OPTIONS" if get else "POST, OPTIONS"


def check_method(method: str, *, get: bool) -> None:
    """Raise :exc:`Refused` if *method* is none of a ping."""
    if method != "POST" and not (get and method == "GET"):
        raise Refused(
            Code.METHOD_NOT_ALLOWED, f"a ping is sent by {'GET or POST' if get else 'POST'}", Allow=allowed(get=get)
        )


def loggable_address(path: bytes, query: bytes) -> bytes:
    """Return the address of a request as it may stand in a log: without what could be a token, or a password."""
    if not query:
        return path
    try:
        fields = _fields(query)
    except Refused:
        fields = {}
    if set(fields) != {"sitemap"} or "@" in fields["sitemap"]:
        return path + b"?..."
    return path + b"?sitemap=" + quote(fields["sitemap"], safe="").encode()


def _body(received: Received) -> bytes:
    if received.body is None:
        raise Refused(Code.BODY_TOO_LONG, f"the body must have {MAX_BODY_BYTES} bytes at most")
    media_type = received.header("content-type").partition(";")[0].strip().lower()
    if media_type != _FORM:
        raise Refused(Code.MEDIA_TYPE, f"the body must be of the type {_FORM}")
    if received.header("content-encoding").strip().lower() not in {"", "identity"}:
        raise Refused(Code.MEDIA_TYPE, "the body must not be compressed")
    return received.body


def _fields(text: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Refused(Code.BAD_FORM, "the fields cannot be read: they must be URL-encoded, in UTF-8") from None
    if any(count > 1 for count in Counter(name for name, _ in pairs).values()):
        raise Refused(Code.BAD_FORM, "a field is there more than once: a ping names one sitemap")
    names = {name for name, _ in pairs}
    if unknown := names - {"sitemap", "token"}:
        told = f"{len(unknown)} field{'s'[: len(unknown) > 1]} that {'is' if len(unknown) == 1 else 'are'} not known"
        why = (
            "the address of the sitemap must be URL-encoded, with %26 for &"
            if "sitemap" in names
            else "and none that is called sitemap"
        )
        raise Refused(Code.BAD_FORM, f"there are the fields sitemap and token; this ping has {told}: {why}")
    return dict(pairs)


def _bearer(received: Received) -> str:
    """Return the token of the header; that of Scrapyd's own authentication is another matter."""
    found = set()
    for name in ("authorization", "x-ping-authorization"):
        scheme, _, token = received.header(name).partition(" ")
        if scheme.lower() == "bearer":
            found.add(token.strip())
    if len(found) > 1:
        raise Refused(Code.BAD_FORM, "the request has more than one token")
    return "".join(found)
