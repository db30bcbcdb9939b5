"""Why a ping is not taken: a code for programs, a status of HTTP, and words for people."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Code(StrEnum):
    """The codes of refusals."""

    status: int
    """The status of HTTP that goes with it."""

    def __new__(cls, value: str, status: int) -> Self:
        """Make the member *value* with its *status*."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.status = status
        return member

    BAD_FORM = "bad-form", 400
    """The fields cannot be read, one stands there twice or is unknown, or one is in the address that belongs in the
    body."""
    NO_SITEMAP = "no-sitemap", 400
    """The field ``sitemap`` is missing or empty."""
    BAD_SITEMAP = "bad-sitemap", 400
    """``sitemap`` is no absolute address of the web in the form that the protocol wants."""
    NO_TOKEN = "no-token", 401
    """There is no token."""
    WRONG_TOKEN = "wrong-token", 401
    """The token is none of those configured."""
    CLOSED = "closed", 403
    """No token is configured, so nothing is taken from anybody."""
    HOST_NOT_ALLOWED = "host-not-allowed", 403
    """The host, or its port, is not among those that may be crawled."""
    PRIVATE_ADDRESS = "private-address", 403
    """The host is one of a private network."""
    METHOD_NOT_ALLOWED = "method-not-allowed", 405
    """The method is not POST (nor GET, where that is switched on)."""
    BODY_TOO_LONG = "body-too-long", 413
    """The body is longer than 16 KiB."""
    MEDIA_TYPE = "media-type", 415
    """The body is no form of the type ``application/x-www-form-urlencoded``, or it is compressed."""
    TOO_MANY = "too-many", 429
    """More pings than the configuration allows in a minute."""
    INTERNAL = "internal", 500
    """A fault of the service; Scrapyd's log tells it."""
    QUEUE_FULL = "queue-full", 503
    """As many jobs of pings are pending as may be."""
    LOOKUP_FAILED = "lookup-failed", 503
    """The host has no address at present, or none could be found in time."""
    UNAVAILABLE = "unavailable", 503
    """The job could not be queued, or the tokens could not be read; Scrapyd's log tells why."""


class Refused(Exception):  # noqa: N818 - it is an answer, not an error of ours
    """A ping is not taken."""

    def __init__(self, code: Code, message: str, **headers: str) -> None:
        """*headers* go with the answer; an underscore in a name stands for a hyphen."""
        super().__init__(message)
        self.code = code  #: What for.
        self.message = message  #: The same in words, for who has sent the ping.
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}  #: More for the answer.
