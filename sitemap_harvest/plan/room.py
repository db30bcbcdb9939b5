"""How many documents are downloaded at a time, so that bodies do not pile up in memory."""

from __future__ import annotations


def room(*, most: int, bytes_in_memory: int, done: int, largest: int) -> int:
    """Return how many documents may be in flight.

    *most* of them, as long as that many of the size of the *largest* of the
    *done* ones (in bytes) fit into *bytes_in_memory*, and one more than are
    done, because nothing tells how large the first ones are. At least one.
    """
    return max(1, min(most, done + 1, bytes_in_memory // max(largest, 1)))
