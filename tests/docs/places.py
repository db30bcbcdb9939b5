"""The places in which pages are followed: folders, environments, and the stand-in for the web."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests import forked
from tests.services import programs
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.docs.howtos import Page
    from tests.standin import StandIn

ROOT = Path(__file__).parents[2]
WEB = Path(__file__).parent / "web"
GIVEN = Path(__file__).parent / "given"
_CHECKOUT = ("LICENSE", "README.md", "docs", "fixtures", "pyproject.toml", "scrapy.cfg", "sitemap_harvest")
_LEAVE_OUT = ("*_proxy", "*_PROXY", "VIRTUAL_ENV", "SITEMAP_HARVEST_*", "AWS_*", "COLUMNS", "SCRAPY_*")
_INDEXES = ("pypi.org", "files.pythonhosted.org")


def make_web(folder: Path) -> None:
    """Fill *folder* with a folder for each host that pages name."""
    shutil.copytree(WEB, folder)
    shutil.copytree(ROOT / "fixtures" / "demo", folder / "www.example.com", dirs_exist_ok=True)


def make_place(page: Page, folder: Path) -> Path:
    """Return a folder below *folder* in which *page* can be followed."""
    if "project" in page.needs:
        assert forked.scrapy("startproject", "myproject", cwd=folder).returncode == 0
        return folder / "myproject"
    place = folder / "work"
    place.mkdir()
    if "checkout" in page.needs:
        for name in _CHECKOUT:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, place / name, **({"ignore": _no_caches} if copy is shutil.copytree else {}))
    return place


def make_environment(
    page: Page, folder: Path, web: StandIn, *, wheels: Path | None, commands: Path | None
) -> dict[str, str]:
    """Return the environment of a shell in which *page* is followed; programs that it needs and lacks skip the test.

    *commands* is a folder of programs that are found before those of the environment in which the tests run.
    """
    if "chromium" in page.needs:
        programs.chromium()
    first = [programs.scrapyd()] if "scrapyd" in page.needs and not page.makes_an_environment else []
    first += [commands] if commands else []
    home = folder / "home"
    home.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if not any(Path(name).match(p) for p in _LEAVE_OUT)
    }
    environment |= {
        "PATH": os.pathsep.join(map(str, [*first, Path(sys.executable).parent, os.environ["PATH"]])),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "America/New_York",  # what a page shows must not depend on the zone of the machine
        "PYTHONUNBUFFERED": "1",
        "WEB": str(web.folder),
        "GIVEN": str(GIVEN),
    }
    return environment | _network(web, home) | _pip(page, wheels)


def build_wheel(folder: Path) -> Path:
    """Return *folder* with a wheel of this checkout."""
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)],
        check=True, capture_output=True, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    return folder


def _network(web: StandIn, home: Path) -> dict[str, str]:
    bundle = home / ".authorities.pem"
    usual = ssl.get_default_verify_paths().cafile
    usual = os.environ.get("SSL_CERT_FILE", usual or "/etc/ssl/certs/ca-certificates.crt")
    bundle.write_bytes((Path(usual).read_bytes() if Path(usual).exists() else b"") + b"\n" + web.authority)
    named = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX")
    indexes = [urlsplit(url).hostname or "" for name in named for url in os.environ.get(name, "").split()]
    direct = ",".join(["127.0.0.1", "localhost", *_INDEXES, *filter(None, indexes)])
    return {
        "http_proxy": web.url,
        "https_proxy": web.url,
        "no_proxy": direct,
        "SSL_CERT_FILE": str(bundle),
        "CURL_CA_BUNDLE": str(bundle),
        "REQUESTS_CA_BUNDLE": str(bundle),
    }


def _pip(page: Page, wheels: Path | None) -> dict[str, str]:
    """Configure pip to find this checkout; a page that makes no environment of its own changes none."""
    user = Path.home() / ".config" / "pip" / "pip.conf"
    variables = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip")}
    if user.exists():
        variables["PIP_CONFIG_FILE"] = str(user)
    if wheels is not None:
        variables["PIP_FIND_LINKS"] = f"{wheels} {os.environ.get('PIP_FIND_LINKS', '')}".strip()
    if page.makes_an_environment:
        return variables | {"PYTHONPATH": ""}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    # The pip on the path may belong to another Python: an environment made by uv has no pip.
    return variables | {"PYTHONPATH": path, "PIP_DRY_RUN": "1", "PIP_PYTHON": sys.executable}


_no_caches = shutil.ignore_patterns("__pycache__", "_build")
