"""The documents that are read at a time."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest

from sitemap_harvest.integration.loop_runner import LoopRunner

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = pytest.mark.quick

SMALL, LARGE = 10, 11


def runner() -> LoopRunner:
    return LoopRunner(Mock(), Mock(), Mock(), Mock(), small=SMALL)


class Readers:
    """Documents that arrive, are read when it is their turn, and end on request."""

    def __init__(self) -> None:
        self.read: list[str] = []
        self._downloads = runner()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ends: dict[str, asyncio.Event] = {}

    async def come(self, name: str, size: int) -> None:
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._read(name, size))
        await _settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await _settle()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        await _settle()

    async def _read(self, name: str, size: int) -> None:
        async with aclosing(self._downloads._in_turn(iter([name]), size)) as output:
            async for one in output:
                self.read.append(one)
                try:
                    await self._ends[name].wait()
                finally:
                    self.read.remove(name)

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@asynccontextmanager
async def readers(sizes: dict[str, int]) -> AsyncIterator[Readers]:
    """Let documents of *sizes* arrive, one after the other."""
    found = Readers()
    for name, size in sizes.items():
        await found.come(name, size)
    try:
        yield found
    finally:
        await found.close()


@pytest.mark.parametrize(
    ("sizes", "read"),
    [
        pytest.param({"a": LARGE, "b": LARGE}, ["a", "b"], id="two-large"),
        pytest.param({"a": LARGE, "b": LARGE, "c": LARGE}, ["a", "b"], id="a-third-waits"),
        pytest.param(
            {"a": LARGE, "b": LARGE, "c": LARGE, "d": SMALL}, ["a", "b", "d"], id="small-do-not-wait-for-large"
        ),
        pytest.param(dict.fromkeys("abcde", SMALL), ["a", "b", "c", "d"], id="a-fifth-small-waits"),
        pytest.param(
            {**dict.fromkeys("abcde", SMALL), "f": LARGE}, ["a", "b", "c", "d", "f"], id="nor-large-for-small"
        ),
    ],
)
def test_documents_that_have_a_turn(sizes: dict[str, int], read: list[str]) -> None:
    async def check() -> None:
        async with readers(sizes) as found:
            assert found.read == read

    asyncio.run(check())


def test_turns_are_given_in_order_of_arrival() -> None:
    async def check() -> None:
        async with readers(dict.fromkeys("abcd", LARGE)) as found:
            await found.end("b")
            assert found.read == ["a", "c"]
            await found.end("a")
            assert found.read == ["c", "d"]

    asyncio.run(check())


@pytest.mark.parametrize(
    ("cancelled", "read"),
    [
        pytest.param("b", ["a", "c"], id="while-it-is-read"),
        pytest.param("c", ["a", "b"], id="while-it-waits"),
    ],
)
def test_a_cancelled_document_leaves_its_turn_to_others(cancelled: str, read: list[str]) -> None:
    async def check() -> None:
        async with readers(dict.fromkeys("abcd", LARGE)) as found:
            await found.cancel(cancelled)
            assert found.read == read
            await found.end("a")
            assert found.read == [*read[1:], "d"]

    asyncio.run(check())


def test_abandoned_output_returns_its_turn() -> None:
    async def check() -> None:
        reading = runner()
        for _ in range(5):
            dropped = reading._in_turn(iter([1, 2]), LARGE)
            assert await anext(dropped) == 1
            del dropped
            await _settle()

    asyncio.run(asyncio.wait_for(check(), 30))
