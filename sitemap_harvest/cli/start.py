"""The start of a command: spares CPU time that is of no use to a short run."""

from __future__ import annotations

import gc
import os


def begin_start() -> None:
    """Prepare the process for the imports of a command. :func:`end_start` ends its start."""
    gc.disable()  # imports create many objects to search, and no garbage
    # numpy's BLAS library starts a thread per core when it is loaded, each of which spins for a while. Nothing here
    # multiplies matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def end_start() -> None:
    """Collect garbage from now on, but only of what the run creates: what was imported stays until the end."""
    gc.freeze()
    gc.enable()
