"""The start of a command: spares CPU time that is of no use to a short run."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType


def begin_start() -> None:
    """Prepare the process for the imports of a command. :func:`end_start` ends its start."""
    gc.disable()  # imports create many objects to search, and no garbage
    # numpy's BLAS library starts a thread per core when it is loaded, each of which spins for a while. Nothing here
    # multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def prevent_pandas_import() -> None:
    """Keep pyarrow from importing pandas, which takes 0.2 seconds and 40 MB.

    pyarrow tries once, at its first conversion, and after that ``pyarrow.array()`` does not accept objects of pandas.
    So call this only if no code of the user runs in this process. ``to_pandas()`` imports pandas when it is called.
    """
    if "pandas" in sys.modules:
        return
    finder = _WithoutPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa

        pa.scalar(None)
    finally:
        sys.meta_path.remove(finder)


class _WithoutPandas:
    """Makes pandas look as if it was not installed. ``None`` in ``sys.modules`` does not: Cython returns it."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:  # noqa: ARG002 - Python's interface
        if name == "pandas":
            raise ModuleNotFoundError(name)


def end_start() -> None:
    """Collect garbage from now on, but only of what the run creates: what was imported stays until the end."""
    gc.freeze()
    gc.enable()
