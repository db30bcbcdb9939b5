"""How many pings a minute: token buckets, in memory."""

from __future__ import annotations

from collections import OrderedDict

_MOST_KEPT = 10_000  # of senders; who has not been heard of for longest is forgotten


class Pace:
    """A bucket for each sender, which holds the pings of a minute and fills evenly."""

    def __init__(self, per_minute: int) -> None:
        self._most = float(per_minute)
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, sender: str, now: float) -> float:
        """Return the seconds after which *sender* may send a ping, 0.0 if at once. *now* is in seconds."""
        missing = 1 - self._level(sender, now)
        return max(missing, 0.0) * 60 / self._most

    def take(self, sender: str, now: float) -> None:
        """Note that *sender* has sent a ping."""
        self._levels[sender] = (max(self._level(sender, now) - 1, 0.0), now)
        self._levels.move_to_end(sender)
        if len(self._levels) > _MOST_KEPT:
            self._levels.popitem(last=False)

    def _level(self, sender: str, now: float) -> float:
        level, then = self._levels.get(sender, (self._most, now))
        return min(self._most, level + max(now - then, 0.0) * self._most / 60)
