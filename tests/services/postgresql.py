"""A real PostgreSQL server on loopback, with an empty database, whose files are temporary."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.services import lacking

if TYPE_CHECKING:
    from collections.abc import Iterator

USER = "harvest"
PASSWORD = "it's a secret:@/"
_OPTIONS = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=20"
_NOBODY = 65534


def _program(name: str) -> str:
    found = shutil.which(name) or next(map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))), None)
    if found is None:
        lacking("PostgreSQL", "apt-get install postgresql")
    return found


def postgresql() -> Iterator[str]:
    """Start a server; yield the URI of a database; stop it. The password is in ``PGPASSWORD``, and not in the URI."""
    with TemporaryDirectory(prefix="postgresql-") as folder:  # other users cannot enter the folders of pytest
        yield from _started(Path(folder))


def _started(folder: Path) -> Iterator[str]:
    initdb, control = _program("initdb"), _program("pg_ctl")
    user = _NOBODY if os.getuid() == 0 else None  # it refuses to run as root
    data, password = folder / "data", folder / "password"
    password.write_text(PASSWORD)
    if user is not None:
        for path in (folder, password):
            os.chown(path, user, user)

    def run(*command: str) -> None:
        groups = None if user is None else []
        done = subprocess.run(
            command, user=user, extra_groups=groups, cwd=folder, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    run(
        initdb, f"--pgdata={data}", f"--username={USER}", f"--pwfile={password}", "--auth=scram-sha-256", "--no-sync",
        "--encoding=UTF8", "--locale=C",
    )  # fmt: skip
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 {_OPTIONS}"
    run(control, f"--pgdata={data}", f"--options={options}", f"--log={folder}/log", "--wait", "start")
    before = os.environ.get("PGPASSWORD")
    os.environ["PGPASSWORD"] = PASSWORD
    try:
        yield f"postgresql://{USER}@127.0.0.1:{port}/postgres"
    finally:
        if before is None:
            del os.environ["PGPASSWORD"]
        else:
            os.environ["PGPASSWORD"] = before
        run(control, f"--pgdata={data}", "--mode=immediate", "--wait", "stop")
