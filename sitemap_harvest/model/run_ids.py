"""The ids of runs, such as ``20261122T014512Z-4f2a1c``: start of the run in UTC, and six hex digits.

They sort by time, even if the clock was set back.
"""

from __future__ import annotations

import re
import secrets
from datetime import datetime, timedelta

_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{6}", re.ASCII)
_MOMENT = "%Y%m%dT%H%M%SZ"


def new_run_id(now: datetime) -> str:
    """Return a unique id for a run that begins *now*, in UTC."""
    return f"{now:{_MOMENT}}-{secrets.token_hex(3)}"


def is_run_id(name: str) -> bool:
    """Whether *name* is the id of a run."""
    return _ID.fullmatch(name) is not None


def id_after(before: str | None, run_id: str) -> str:
    """Return *run_id*, or an id that sorts after the run *before*, if the clock was set back."""
    if before is None or run_id > before:
        return run_id
    later = moment_of(before) + timedelta(seconds=1)
    return f"{later:{_MOMENT}}-{run_id.rpartition('-')[2]}"


def moment_of(run_id: str) -> datetime:
    """Return the start of the run with that id, to the second, in UTC."""
    return datetime.strptime(f"{run_id.partition('-')[0]}+0000", f"{_MOMENT}%z")
