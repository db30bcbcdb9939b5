"""The option ``--report``: what it needs, and the files in which results are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sitemap_harvest.cli.audit_reports import AuditReports
from sitemap_harvest.errors import ArgumentError, StoreError
from sitemap_harvest.integration import default_settings
from tests.audit.reporting import SITE, audited, finding


def test_a_workbook_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(default_settings, "find_spec", lambda _name: None)
    with pytest.raises(ArgumentError, match=r"--report a\.xlsx: XlsxWriter is not installed: pip install "):
        AuditReports(["a.xlsx"])


def test_a_file_that_is_no_report_is_not_replaced(tmp_path: Path) -> None:
    (page := tmp_path / "index.html").write_text("<title>Home</title>")
    (tmp_path / "empty.html").touch()
    for name in (f"{tmp_path}/", str(page)):
        with pytest.raises(ArgumentError, match=re.escape(f"--report {name}: {page} exists and is no report of an")):
            AuditReports([name])
    names = [f"{tmp_path}/new.html", f"{tmp_path}/empty.html", f"{tmp_path}/new/"]
    for _ in range(2):  # what a report wrote, another replaces
        AuditReports(names).write()
    assert page.read_text() == "<title>Home</title>"


@pytest.mark.parametrize("name", ["public/", "public/audits/", "public/a.sarif", "link.md", "public/../public/a.html"])
def test_a_report_in_the_folder_of_the_site_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (root := Path("public")).mkdir()
    Path("link.md").symlink_to(tmp_path / "public" / "a.md")
    reports = AuditReports(["public-audit.html", name])
    reports.use_root(None)
    with pytest.raises(ArgumentError, match=re.escape(f"--report {name}: it is in the folder of the site (root=publi")):
        reports.use_root(root)


def no_space(*_: object) -> None:
    raise OSError("no space left")


@pytest.mark.parametrize("suffix", ["xml", "sarif", "md", "xlsx"])
def test_a_report_replaces_a_file_when_it_is_complete(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / f"report.{suffix}").write_text("earlier")
    failing, reports = AuditReports([str(file)]), AuditReports([str(file)])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", no_space)
        with pytest.raises(StoreError, match=f"--report {file}: no space left"):
            failing.write()
    assert file.read_text() == "earlier"
    reports.write()
    assert file.read_bytes() != b"earlier"
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize(
    ("url", "path"),
    [
        pytest.param(f"{SITE}/sitemap.xml", "public/sitemap.xml", id="file"),
        pytest.param(f"{SITE}/a%20b.xml?x", "public/a b.xml", id="escaped"),
        pytest.param(f"{SITE}/gone/s.xml", "public/gone/s.xml", id="missing"),
        pytest.param(f"{SITE}/%2e%2e/secret.xml", "public/robots.txt", id="outside"),
        pytest.param(f"{SITE}/link.xml", "public/robots.txt", id="link"),
        pytest.param("file:///tmp/s.xml", "/tmp/s.xml", id="file-url"),
    ],
)
def test_documents_are_found_in_the_folder_of_the_site(url: str, path: str, tmp_path: Path) -> None:
    (tmp_path / "public").mkdir()
    for name in ("public/sitemap.xml", "public/a b.xml", "secret.xml"):
        (tmp_path / name).touch()
    (tmp_path / "public" / "link.xml").symlink_to(tmp_path / "secret.xml")
    reports = AuditReports([str(tmp_path / "a.sarif")])
    audit = audited(finding("url/fragment"))
    reports.add(audit)
    assert audit.file_of(url) == (Path(path) if url.startswith("file:") else None)
    reports.use_root(tmp_path / "public")
    reports.add(audit)
    assert audit.file_of(url) == tmp_path / path
