"""How many pages of one host are asked for at a time, so that one slow host does not hold up the others."""

from __future__ import annotations


def host_share(*, concurrency: int, of_host: int, sites: int) -> int:
    """Return how many requests to one host may be under way while pages of *sites* sites wait.

    Its share of *concurrency*, the requests of the whole run (0: no limit), but
    no more than twice *of_host*, the downloads that the host takes at a time: as
    many again stand ready. At least one.
    """
    share = -(-concurrency // max(sites, 1)) if concurrency else 2 * of_host
    return max(1, min(2 * of_host, share))
