"""A real Jupyter kernel, for tests of notebooks."""

from __future__ import annotations

import os
import re
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_TERMINAL = re.compile(r"\x1b\[[\d;]*m")


class Notebook:
    """Runs cells, one after the other."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def run(self, source: str) -> list[Any]:
        """Return the outputs of a cell, as in a notebook file. Raises an error if it does."""
        cells = self._client.nb.cells
        cells.append(pytest.importorskip("nbformat.v4").new_code_cell(source))
        return self._client.execute_cell(cells[-1], len(cells) - 1).outputs

    def complete(self, code: str) -> list[str]:
        """Return what the kernel offers at the end of *code*."""

        async def reply() -> Any:
            return await self._client.kc.complete(code, reply=True)

        # In the event loop of the client: after another one was closed, the next kernel is not heard for a while.
        return pytest.importorskip("jupyter_core.utils").run_sync(reply)()["content"]["matches"]

    def interrupt(self) -> None:
        """Interrupt the running cell."""
        os.kill(self._client.km.provisioner.pid, signal.SIGINT)


@contextmanager
def notebook(folder: Path, environment: Mapping[str, str]) -> Iterator[Notebook]:
    """Yield a notebook in *folder*, with a kernel of its own; skip the test where Jupyter is not installed."""
    pytest.importorskip("ipykernel")
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat.v4")
    client = nbclient.NotebookClient(nbformat.new_notebook(), timeout=PATIENCE_SECONDS, kernel_name="python3")
    with client.setup_kernel(cwd=str(folder), env=dict(environment)):
        yield Notebook(client)


def as_text(outputs: list[Any]) -> str:
    """Return what the outputs of a cell print and show."""
    texts = [one.get("text") or one.get("data", {}).get("text/plain", "") for one in outputs]
    return _TERMINAL.sub("", "\n".join(texts))
