"""The server of all cells: each is a separate host, selected by the header ``Host``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.crawl.matrix.cells import BEFORE_RUN, Cell, cells
from tests.server import Page, Site

if TYPE_CHECKING:
    from email.message import Message


class Cells(Site):
    """Serves every cell in its state in :attr:`run`."""

    def __init__(self) -> None:
        super().__init__()
        self.max_requests = 100_000
        self.run = BEFORE_RUN
        self.cells: list[Cell] = cells(self._server.server_address[1])
        self._by_host = {cell.host: cell for cell in self.cells}

    def page(self, path: str, headers: Message) -> Page:
        host = headers["Host"].split(":")[0].removeprefix("own.")
        return self._by_host[host].page(path, self.run) or Page(b"no such page", status=404)

    def names(self) -> dict[str, str | None]:
        """Return the addresses of the hosts that have moved."""
        return {name: address for cell in self.cells for name, address in cell.names(self.run).items()}
