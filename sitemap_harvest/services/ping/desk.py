"""Takes pings or refuses them: everything that is decided, in the order in which it is."""

from __future__ import annotations

import math
from ipaddress import ip_network
from typing import TYPE_CHECKING

from sitemap_harvest.errors import OptionError
from sitemap_harvest.services.ping.address import pinged
from sitemap_harvest.services.ping.form import check_method, read_form
from sitemap_harvest.services.ping.memory import Memory
from sitemap_harvest.services.ping.pace import Pace
from sitemap_harvest.services.ping.refusal import Code, Refused
from sitemap_harvest.services.ping.tokens import Tokens, owner

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from sitemap_harvest.services.ping.address import Pinged
    from sitemap_harvest.services.ping.config import PingConfig
    from sitemap_harvest.services.ping.form import Form, Received
    from sitemap_harvest.services.ping.memory import Jobs

_CHALLENGE = 'Bearer realm="sitemap ping"'
_SECONDS_FOR_THE_QUEUE = "60"


class Desk:
    """One for all the names under which the service is there. *now* is in seconds, of a clock that never goes back."""

    def __init__(self, config: PingConfig, environment: MutableMapping[str, str]) -> None:
        """Begin with nothing known. Raises :exc:`OptionError` if the service is open and cannot work."""
        self.config = config
        self._tokens = Tokens(config, environment)
        if self.is_open:
            config.check_complete()
        self._of_tokens = Pace(config.per_minute)
        self._of_strangers = Pace(config.per_minute)
        self._of_all = Pace(config.per_minute_all)
        self._memory = Memory(config.repeat_minutes * 60)

    @property
    def is_open(self) -> bool:
        """Whether there is a token. Raises :exc:`OptionError` if they cannot be read."""
        return bool(self._tokens.known())

    def enter(self, received: Received, now: float) -> tuple[str, Form]:
        """Return who has sent *received*, by the name of the token, and what it says. Raises :exc:`Refused`."""
        check_method(received.method, get=self.config.get)
        known = self._known()
        stranger = _network(received.peer)
        form = read_form(received)
        if (name := owner(form.token, known)) is None:
            _hold_to(self._of_strangers.wait(stranger, now))
            self._of_strangers.take(stranger, now)
            raise _unknown(form.token)
        _hold_to(max(self._of_tokens.wait(name, now), self._of_all.wait("", now)))
        self._of_tokens.take(name, now)
        self._of_all.take("", now)
        return name, form

    def sitemap(self, form: Form) -> Pinged:
        """Return the sitemap that *form* names. Raises :exc:`Refused`."""
        if not form.sitemap:
            raise Refused(Code.NO_SITEMAP, "the field sitemap is missing: it is the address of a sitemap")
        return pinged(form.sitemap, self.config)

    def job_of(self, sitemap: Pinged, jobs: Jobs, now: float) -> str | None:
        """Return the job that a ping for *sitemap* repeats. ``None``: it needs a new one.

        Raises :exc:`Refused` if there is no room for that.
        """
        if (job := self._memory.job_of(sitemap.key, jobs, now)) is not None:
            return job
        if len(jobs.pending) >= self.config.max_pending:
            message = f"{len(jobs.pending)} pings wait for their crawl: send this one again later"
            raise Refused(Code.QUEUE_FULL, message, Retry_After=_SECONDS_FOR_THE_QUEUE)
        return None

    def note(self, sitemap: Pinged, job: str, now: float) -> None:
        """Note that *job* was scheduled for *sitemap*."""
        self._memory.note(sitemap.key, job, now)

    def _known(self) -> dict[str, str]:
        try:
            known = self._tokens.known()
        except OptionError as error:
            raise Refused(Code.UNAVAILABLE, "the tokens cannot be read at present", Retry_After="60") from error
        if not known:
            raise Refused(Code.CLOSED, "this service is closed: no token is configured")
        return known


def _hold_to(seconds: float) -> None:
    if seconds > 0:
        after = str(math.ceil(seconds))
        raise Refused(Code.TOO_MANY, f"too many pings: send this one again in {after} s", Retry_After=after)


def _unknown(token: str) -> Refused:
    if not token:
        return Refused(
            Code.NO_TOKEN,
            "a token is needed, as Authorization: Bearer, or in the field token of a POST",
            WWW_Authenticate=_CHALLENGE,
        )
    return Refused(Code.WRONG_TOKEN, "the token is not known", WWW_Authenticate=f'{_CHALLENGE}, error="invalid_token"')


def _network(peer: str) -> str:
    """Return what stands for *peer*: of IPv6, the network, for who has one has all its addresses."""
    try:
        return str(ip_network(f"{peer}/64", strict=False)) if ":" in peer else peer
    except ValueError:
        return peer
