"""The tokens that open the service: from the configuration, a file and the environment."""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from typing import TYPE_CHECKING

from sitemap_harvest.errors import OptionError
from sitemap_harvest.services.ping.readers import is_token

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from pathlib import Path

    from sitemap_harvest.services.ping.config import PingConfig

VARIABLE = "SITEMAP_HARVEST_PING_TOKENS"
_COMMENT = re.compile(r"(?:^|\s)#.*")
_NAME = re.compile(r"[\w.\-]{1,40}", re.ASCII)
_ACCEPTED = "a token of 16 characters or more, in ASCII, or a name and a token"


class Tokens:
    """The tokens. Those of the file are read anew each time, so that one can be withdrawn without a restart."""

    def __init__(self, config: PingConfig, environment: MutableMapping[str, str]) -> None:
        """Take the variable out of *environment*, which jobs inherit. Raises :exc:`OptionError`."""
        given = tuple(environment.pop(VARIABLE, "").split())
        if not all(map(is_token, given)):
            raise OptionError(
                f"the environment variable {VARIABLE}: each token must have 16 characters or more, in ASCII"
            )
        self._fixed = {str(number): token for number, token in enumerate((*config.tokens, *given), start=1)}
        self._file = config.token_file
        self.known()

    def known(self) -> dict[str, str]:
        """Return the tokens by name; those that have none are numbered. Raises :exc:`OptionError`."""
        return self._fixed | (_read(self._file) if self._file else {})


def owner(token: str, known: dict[str, str]) -> str | None:
    """Return the name of *token*; ``None`` if it is not *known*. Takes as long for each of them."""
    digest = _digest(token)
    found = [name for name, each in known.items() if hmac.compare_digest(_digest(each), digest)]
    return found[0] if found else None


def _read(file: Path) -> dict[str, str]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else "it is no text in UTF-8"
        raise OptionError(f"token_file is {str(file)!r}, and it cannot be read: {why}") from None
    known: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not (words := _COMMENT.sub("", line).split()):
            continue
        name = words[0] if len(words) == 2 else f"line {number}"
        if len(words) > 2 or not is_token(words[-1]) or (len(words) == 2 and not _NAME.fullmatch(name)):
            raise OptionError(f"token_file is {str(file)!r}, and line {number} is wrong: it must be {_ACCEPTED}")
        if name in known:
            raise OptionError(f"token_file is {str(file)!r}, and line {number} has the name of another line")
        known[name] = words[-1]
    return known


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
