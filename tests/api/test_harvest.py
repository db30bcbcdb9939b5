"""Runs from Python, each with its real process."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import pickle
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from scrapy.settings import Settings

import sitemap_harvest
from sitemap_harvest import ArgumentError, HarvestError, HarvestProcessError, HarvestResult, OptionError, harvest
from sitemap_harvest.config.arguments import ARGUMENTS
from sitemap_harvest.integration.default_settings import PLAIN
from tests.api.processes import has_open, is_running, linux, process_of_run
from tests.site import Site, index, robots, urlset
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from email.message import Message

ROOT = Path(__file__).parents[2]
PAGES = {"/robots.txt": robots("/s.xml"), "/s.xml": urlset("/a", "/b")}
FLAWED = {
    "/robots.txt": robots("/i.xml"),
    "/i.xml": index("/s.xml", "/gone.xml"),
    "/s.xml": urlset("/a?x=1&y=2", "/b"),
}


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(dict(PAGES)) as site:
        yield site


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have results below a folder of their own, which is empty in the end."""
    (parent := tmp_path / "results").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(parent))
    yield
    assert list(parent.iterdir()) == []


def locs(result: HarvestResult) -> list[str]:
    return result.urls["loc"].to_pylist()


def script(text: str, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a script without a main guard."""
    (file := folder / "script.py").write_text(textwrap.dedent(text))
    (parent := folder / "results").mkdir(exist_ok=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "TMPDIR": str(parent)}
    return subprocess.Popen(
        [sys.executable, str(file), *arguments],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@contextmanager
def waiting(text: str, folder: Path) -> Iterator[tuple[subprocess.Popen[str], int, Event]]:
    """Start a script, and yield it when its run waits for a response, with the ID of that process.

    The site responds once the event is set.
    """
    is_requested, may_answer = Event(), Event()

    def answer(_: Message) -> str:
        is_requested.set()
        may_answer.wait(PATIENCE_SECONDS)
        return urlset("/a")

    with Site({**PAGES, "/s.xml": answer}) as site:
        process = script(text, folder, site.url)
        assert is_requested.wait(PATIENCE_SECONDS)
        yield process, process_of_run(process.pid), may_answer


def has_rows(file: Path) -> bool:
    with suppress(pa.ArrowInvalid, OSError), pa.ipc.open_stream(file.read_bytes()) as stream:
        return stream.read_next_batch().num_rows > 0
    return False


@pytest.mark.quick
def test_a_site_with_a_flaw_is_harvested_into_tables() -> None:
    with Site(dict(FLAWED)) as site:
        result = harvest(site.url)
    assert locs(result) == [f"{site.url}/a?x=1&y=2", f"{site.url}/b"]
    assert [row.loc for row in result.urls] == locs(result)
    assert dict(zip(result.sitemaps["url"].to_pylist(), result.sitemaps["outcome"].to_pylist(), strict=True)) == {
        f"{site.url}/robots.txt": "read",
        f"{site.url}/i.xml": "read",
        f"{site.url}/s.xml": "read",
        f"{site.url}/gone.xml": "absent",
    }
    assert [(row.code, row.count) for row in result.problems] == [("xml/not-well-formed", 1), ("xml/bare-ampersand", 1)]
    assert result.problems["severity"].to_pylist() == ["error", "error"]
    assert [(row.root, row.result, row.urls) for row in result.sites] == [(site.url, "found", 2)]
    assert list(result.tables) == ["urls", "sitemaps", "sites", "problems"]
    assert dir(result) == sorted({*result.tables, "close", "complete", "summary", "tables", "was_killed"})
    assert not result.complete
    assert (result.summary.verdict, result.summary.counts.urls, result.summary.outputs) == ("partly-failed", 2, ())
    reason = "HTTP 404: the server has no such document"
    assert [(one.url, one.outcome, one.reason) for one in result.summary.failed_documents] == [
        (f"{site.url}/gone.xml", "absent", reason)
    ]
    assert repr(result).splitlines() == [
        "HarvestResult, not complete (partly-failed): 2 URLs from 4 documents (3 read, 1 absent)",
        f"  {site.url}/gone.xml: absent: {reason}",
        "tables: urls (2), sitemaps (4), sites (1), problems (2)",
    ]


@pytest.mark.quick
def test_a_run_that_reads_everything_is_complete(site: Site) -> None:
    with harvest([site.url], limit=5, include="/a", settings={"RETRY_TIMES": 0}) as result:
        assert (locs(result), result.complete) == ([f"{site.url}/a"], True)
    assert site.user_agents == {PLAIN["USER_AGENT"]}
    for table in result.tables.values():
        with pytest.raises(HarvestError, match="the result was closed"):
            len(table)


def test_a_reached_limit_and_documents_that_list_nothing_are_said_once(tmp_path: Path, site: Site) -> None:
    with harvest(f"{site.url}/s.xml", limit=1) as result:
        assert result.complete
        assert repr(result).startswith("HarvestResult, limit 1 was reached: 1 URL from ")
    with harvest(f"{site.url}/gone.xml") as result:
        assert repr(result).splitlines()[1:-1] == [
            f"  {site.url}/gone.xml: absent: HTTP 404: the server has no such document"
        ]
    (tmp_path / "empty.xml").touch()
    with harvest(tmp_path / "empty.xml") as result:
        assert repr(result).splitlines()[1:-1] == [
            f"  {(tmp_path / 'empty.xml').as_uri()}: not-a-sitemap: the document is empty"
        ]


def test_targets_are_those_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, site: Site) -> None:
    (tmp_path / "s.xml").write_text(urlset("https://a.example/1"))
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "sitemap.xml").write_text(urlset("https://b.example/2"))
    monkeypatch.chdir(tmp_path)
    assert locs(harvest(Path("s.xml"))) == ["https://a.example/1"]
    assert sorted(locs(harvest(iter(["s.xml", f"{site.url}/s.xml"])))) == [
        f"{site.url}/a", f"{site.url}/b", "https://a.example/1"
    ]  # fmt: skip
    assert locs(harvest("https://b.example", root=tmp_path / "public")) == ["https://b.example/2"]
    assert locs(harvest(site=site.url)) == [f"{site.url}/a", f"{site.url}/b"]


def test_values_of_python_types_are_accepted(site: Site) -> None:
    result = harvest(
        site.url, since=timedelta(days=7), prune_index=False, missing_lastmod="keep", lang=None, emit=["urls"]
    )
    assert locs(result) == [f"{site.url}/a", f"{site.url}/b"]
    assert result.summary.arguments["since"] == "604800s"
    assert list(result.tables) == ["urls"]
    assert dir(result) == ["close", "complete", "summary", "tables", "urls", "was_killed"]
    with pytest.raises(HarvestError, match="has not emitted findings: add findings to the argument emit"):
        _ = result.findings
    with pytest.raises(AttributeError, match=r"no attribute 'url'; it has .*, urls"):
        _ = result.url
    with pytest.raises(HarvestError, match="has not emitted problems: add sitemaps to the argument emit"):
        _ = result.problems


@pytest.mark.quick
@pytest.mark.parametrize(
    ("targets", "arguments", "message"),
    [
        pytest.param("", {}, "TARGET is empty: give a site", id="empty"),
        pytest.param([], {}, "nothing to harvest: give a site", id="none"),
        pytest.param(5, {}, "argument targets=5: it must be a text or a path", id="number"),
        pytest.param(b"a.example", {}, "argument targets=b'a.example': it must be", id="bytes"),
        pytest.param([5], {}, "argument targets=5: it must be a text or a path", id="number-in-list"),
        pytest.param("a.example", {"sinse": "7d"}, "did you mean since?", id="unknown"),
        pytest.param("a.example", {"since": "7"}, "argument since='7': it must be a date", id="value"),
        pytest.param("a.example", {"limit": 10.0}, "argument limit=10.0: it must be a whole number", id="float"),
        pytest.param("a.example", {"force": True}, "argument force='yes': it requires a store", id="no-store"),
        pytest.param(
            "a.example",
            {"since": "7d", "emit": "findings"},
            "argument since='7d' has no effect: an audit checks every URL",
            id="filter-of-an-audit",
        ),
        pytest.param("a.example", {"root": "nowhere"}, "argument root='nowhere': it must be an existing", id="folder"),
        pytest.param("a.example", {"consumer": "c"}, "no delivery", id="consumer"),
        pytest.param("a.example", {"follow": False}, "argument follow=False: it must be REGEX: of the", id="bool"),
        pytest.param("a.example", {"store": True}, "argument store=True: it must be FOLDER: where to", id="bool-path"),
        pytest.param("a.example", {"scope": True}, "argument scope=True: it must be mark or strict", id="bool-word"),
    ],
)
def test_a_wrong_argument_is_an_error_before_anything_starts(
    targets: Any, arguments: Mapping[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(ArgumentError) as raised:
        harvest(targets, **arguments)
    assert message in str(raised.value)


@pytest.mark.quick
def test_an_unknown_argument_is_reported_with_those_of_harvest() -> None:
    with pytest.raises(ArgumentError, match="argument consumr: unknown argument; valid arguments: site, ") as raised:
        harvest("a.example", consumr="c")
    assert raised.value.accepted.split(", ") == [name for name in ARGUMENTS if name != "consumer"]


@pytest.mark.quick
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param({"SITEMAP_HARVEST_MAX_DEPTH": 0}, "SITEMAP_HARVEST_MAX_DEPTH is 0", id="value"),
        pytest.param({"SITEMAP_HARVEST_MAX_DEPHT": 3}, "did you mean SITEMAP_HARVEST_MAX_DEPTH", id="name"),
        pytest.param({"SITEMAP_HARVEST_CLOSING": "x"}, "the attribute summary", id="closing"),
        pytest.param("LOG_LEVEL=INFO", "it must be a dictionary", id="text"),
        pytest.param({"EXTENSIONS": {type("Local", (), {}): 0}}, "cannot be sent to the process", id="local-class"),
    ],
)
def test_a_wrong_setting_is_an_error_before_anything_starts(
    settings: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    with pytest.raises(OptionError) as raised:
        harvest("a.example", settings=settings)
    assert message in str(raised.value)


def test_a_setting_that_may_be_a_typo_is_a_warning(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    result = harvest(f"{site.url}/s.xml", settings={"DOWNLOAD_TIMEOT": 3, "MY_TIMEOUT": 3, "RETRY_TIMES": 0})
    assert result.summary.counts.errors == 0
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == [
        "Unknown setting DOWNLOAD_TIMEOT; did you mean DOWNLOAD_TIMEOUT?"
    ]


def test_what_only_the_process_can_check_is_an_error_too(site: Site) -> None:
    with pytest.raises(HarvestError, match=r"^FEED_EXPORT_ENCODING is 'klingon'"):
        harvest(site.url, settings={"FEED_EXPORT_ENCODING": "klingon"})
    with pytest.raises(OptionError, match=r"^DOWNLOAD_TIMEOUT is 'abc'; it must be a number$"):
        harvest(site.url, settings={"DOWNLOAD_TIMEOUT": "abc"})
    assert site.requests == []


def test_a_process_that_fails_is_an_error_with_its_log(site: Site) -> None:
    with pytest.raises(HarvestProcessError, match="has failed with exit code 1; the last lines of its log:") as raised:
        harvest(site.url, settings={"STATS_CLASS": "nowhere.Stats"})
    assert raised.value.log.splitlines()[-1] == "ModuleNotFoundError: No module named 'nowhere'"
    raised.value.result.close()


def test_a_store_adds_the_changes(site: Site, tmp_path: Path) -> None:
    assert len(harvest(site.url, store=tmp_path / "store").changes) == 0
    site.pages["/s.xml"] = urlset("/b", "/c")
    result = harvest(site.url, settings={"SITEMAP_HARVEST_STORE": str(tmp_path / "store")})
    assert sorted((row.kind, row.loc) for row in result.changes) == [
        ("added", f"{site.url}/c"), ("removed", f"{site.url}/a")
    ]  # fmt: skip
    assert locs(result) == [f"{site.url}/b", f"{site.url}/c"]


def test_a_host_that_does_not_exist_is_a_result(caplog: pytest.LogCaptureFixture) -> None:
    result = harvest("http://nowhere.invalid", settings={"RETRY_TIMES": 0})
    assert (len(result.urls), result.complete, result.summary.verdict) == (0, False, "unreachable")
    assert [(site.root, site.cause) for site in result.summary.failed_sites] == [("http://nowhere.invalid", "dns")]
    assert "http://nowhere.invalid: unreachable" in repr(result)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "No URL was found" in caplog.text


def test_the_log_goes_to_loggers_of_the_same_names(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        harvest(site.url)
    assert any(record.name == "sitemap" and "2 URLs from 2 documents" in record.message for record in caplog.records)
    assert {record.name for record in caplog.records} >= {"scrapy.core.engine", "sitemap"}


def test_it_runs_inside_an_event_loop_and_in_threads(site: Site) -> None:
    async def main() -> list[HarvestResult]:
        return [harvest(site.url)]

    expected = [f"{site.url}/a", f"{site.url}/b"]
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(harvest, site.url) for _ in range(2)]
        results = [*asyncio.run(main()), *(one.result() for one in waiting)]
    assert [locs(result) for result in results] == [expected] * 3


def test_it_runs_twice_in_a_script_which_loads_no_scrapy(site: Site, tmp_path: Path) -> None:
    text = """
        import sys
        from sitemap_harvest import harvest
        for _ in range(2):
            print(harvest(sys.argv[1]).urls["loc"].to_pylist())
        print("scrapy" in sys.modules, "twisted" in sys.modules)
    """
    out, err = script(text, tmp_path, site.url).communicate(timeout=PATIENCE_SECONDS)
    assert out.splitlines() == [str([f"{site.url}/a", f"{site.url}/b"])] * 2 + ["False False"]
    assert err == ""


@pytest.mark.quick
def test_a_table_outlives_its_result(site: Site, tmp_path: Path) -> None:
    urls = harvest(site.url).urls
    assert urls.relation(["loc"]).order("loc desc").fetchall() == [(f"{site.url}/b",), (f"{site.url}/a",)]
    assert pa.table(urls) == urls.to_arrow()
    assert sum(len(batch) for batch in urls.batches()) == len(urls) == 2
    with pytest.raises(HarvestError, match=r"column .lco.: unknown column; valid columns: loc, loc_raw"):
        urls.to_arrow(["lco"])
    with pytest.raises(KeyError, match=r"column .lco.: unknown column; valid columns: loc, loc_raw"):
        urls["lco"]
    with pytest.raises(TypeError, match="columns have names, such as table"):
        urls[0]  # type: ignore[index]
    assert len(list((tmp_path / "results").iterdir())) == 1


@pytest.mark.service
def test_data_frames(site: Site) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    result = harvest(site.url)
    frame = result.urls.to_pandas(["loc", "lastmod"])
    assert frame["loc"].tolist() == locs(result)
    assert isinstance(frame["lastmod"].dtype, pandas.DatetimeTZDtype)
    assert result.urls.to_polars()["loc"].to_list() == locs(result)
    assert polars.DataFrame(result.sitemaps)["outcome"].to_list() == ["read", "read"]


def test_a_result_goes_to_another_process_only_as_a_table(site: Site) -> None:
    with harvest(site.url) as result:
        for part in (result, result.urls, result.problems):
            with pytest.raises(TypeError, match=r"cannot be pickled.* result.urls.to_arrow\(\) or to_pandas\(\)"):
                pickle.dumps(part)
        assert pickle.loads(pickle.dumps(result.urls.to_arrow()))["loc"].to_pylist() == locs(result)
        error = HarvestProcessError("it was killed", log="a line", result=result)
        copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.log) == (HarvestProcessError, "it was killed", "a line")


@linux
def test_an_interrupt_ends_the_script_and_its_process(tmp_path: Path) -> None:
    text = """
        import sys
        from sitemap_harvest import harvest
        try:
            harvest(sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted")
    """
    with waiting(text, tmp_path) as (process, child, may_answer):
        pipe = Path(f"/proc/{child}/fd/0").readlink()
        process.send_signal(signal.SIGINT)
        wait_until(lambda: not has_open(process.pid, pipe))  # it has told the process to end
        may_answer.set()
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (out, process.returncode) == ("interrupted\n", 0), err
    assert not is_running(child)


@linux
def test_a_terminal_interrupts_runs_in_threads_too(tmp_path: Path) -> None:
    text = """
        import asyncio, sys
        from sitemap_harvest import harvest
        async def main():
            await asyncio.to_thread(harvest, sys.argv[1])
        asyncio.run(main())
    """
    with waiting(text, tmp_path) as (process, child, may_answer):
        assert os.getpgid(child) == os.getpgid(process.pid)  # a terminal sends the signal to each process of the group
        os.kill(child, signal.SIGINT)
        process.send_signal(signal.SIGINT)
        may_answer.set()
        process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == -signal.SIGINT
    assert not is_running(child)


@linux
def test_a_script_that_is_killed_takes_its_process_with_it(tmp_path: Path) -> None:
    text = """
        import sys
        from sitemap_harvest import harvest
        harvest(sys.argv[1])
    """
    with waiting(text, tmp_path) as (process, child, may_answer):
        process.kill()
        process.wait()
        may_answer.set()
        wait_until(lambda: not is_running(child))
    process.communicate()


@linux
def test_a_process_that_is_killed_is_an_error_with_what_was_read(tmp_path: Path) -> None:
    def answer(_: Message) -> str:
        (file,) = tmp_path.glob("results/*/urls.arrow")
        wait_until(lambda: has_rows(file))
        os.kill(process_of_run(os.getpid()), signal.SIGKILL)
        return urlset("/never")

    batch = urlset(*(f"/{number}" for number in range(10_000)))
    with Site({"/robots.txt": robots("/1.xml", "/2.xml"), "/1.xml": batch, "/2.xml": answer}) as site:
        with pytest.raises(HarvestProcessError, match="was killed by signal 9; the last lines of its log:\n") as it:
            harvest(site.url, settings={"SITEMAP_HARVEST_CONCURRENCY": 1})
        read = it.value.result
    assert it.value.log
    assert (read.was_killed, read.complete) == (True, False)
    with pytest.raises(HarvestError, match="the run has no summary"):
        _ = read.summary
    assert 0 < len(read.urls) <= 10_000
    assert locs(read) == [f"{site.url}/{number}" for number in range(len(read.urls))]
    assert repr(read).splitlines()[0] == "HarvestResult of a run that was killed"
    read.close()


def test_a_full_disk_is_an_error(site: Site, tmp_path: Path) -> None:
    text = """
        import resource, sys
        from sitemap_harvest import HarvestProcessError, harvest
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            harvest(sys.argv[1])
        except HarvestProcessError as error:
            print(str(error).split("; ")[1])
    """
    site.pages["/s.xml"] = urlset(*(f"/{number}" for number in range(10_000)))
    out, err = script(text, tmp_path, site.url).communicate(timeout=PATIENCE_SECONDS)
    assert out == "set TMPDIR to a folder on a larger disk\n"
    assert "The output cannot be written" in err


def test_fields_that_a_pipeline_adds_are_columns(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_pipelines.py").write_text(
        "class AddsSource:\n    def process_item(self, item):\n        item['source'] = 'x'\n        return item\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    result = harvest(site.url, settings={"ITEM_PIPELINES": {"their_pipelines.AddsSource": 1}})
    assert result.urls["source"].to_pylist() == ["x", "x"]
    assert [row["source"] for row in result.urls] == ["x", "x"]


def test_pipelines_get_the_kinds_that_the_caller_names(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "their_filter.py").write_text(
        "from scrapy.exceptions import DropItem\n"
        "class NoB:\n    def process_item(self, item):\n"
        "        if item['loc'].endswith('/b'):\n            raise DropItem('b')\n        return item\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = {"ITEM_PIPELINES": {"their_filter.NoB": 1}}
    result = harvest(site.url, settings=settings, store=tmp_path / "store")
    sizes = {name: len(table) for name, table in result.tables.items()}
    assert sizes == {"urls": 1, "sitemaps": 2, "sites": 1, "changes": 0, "problems": 0}
    assert result.complete
    assert "tables: urls (1 of 2), sitemaps (2), sites (1), " in repr(result)
    result = harvest(site.url, settings=settings, emit="urls,sitemaps,sites")
    assert (len(result.urls), len(result.sitemaps), result.complete) == (1, 0, False)
    assert "tables: urls (1 of 2), sitemaps (0 of 2), sites (0), problems (0)" in repr(result)


def test_a_module_that_calls_harvest_when_it_is_imported_by_the_run_starts_no_other_run(
    site: Site, tmp_path: Path
) -> None:
    text = """
        import sys
        from sitemap_harvest import HarvestProcessError, harvest
        class Kept:
            def process_item(self, item):
                return item
        try:
            harvest(sys.argv[-1], settings={"ITEM_PIPELINES": {"their_script.Kept": 1}})
        except HarvestProcessError as error:
            print("call harvest() under if __name__ == '__main__':" in str(error))
    """
    (tmp_path / "their_script.py").write_text(textwrap.dedent(text))
    out, _ = script("import their_script", tmp_path, site.url).communicate(timeout=PATIENCE_SECONDS)
    assert out == "True\n"


def test_a_script_with_the_name_of_a_module_of_python_is_refused_when_a_library_imports_it(tmp_path: Path) -> None:
    (file := tmp_path / "this.py").write_text("import this\nimport sitemap_harvest\nsitemap_harvest.harvest\n")
    run = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == (
        f"sitemap_harvest.errors.HarvestError: rename {file}: it has the name of a module of Python, and a library has "
        "imported it instead"
    )


def test_a_program_of_python_that_runs_a_script_may_be_imported_by_a_library(tmp_path: Path) -> None:
    (file := tmp_path / "own.py").write_text("import cProfile\nimport sitemap_harvest\nsitemap_harvest.harvest\n")
    run = subprocess.run([sys.executable, "-m", "cProfile", str(file)], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")


def test_settings_may_be_those_of_a_project(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "their_project.py").write_text(
        "class AddOn:\n    def update_settings(self, settings):\n        settings.set('USER_AGENT', 'his', 'addon')\n"
        "ADDONS = {AddOn: 1}\nDOWNLOADER_MIDDLEWARES = {}\n"
        f"FEEDS = {{{str(tmp_path / 'urls.csv')!r}: {{'format': 'csv'}}}}\n"
        f"SITEMAP_HARVEST_CLOSING = {str(tmp_path / 'closing.json')!r}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    settings = Settings()
    settings.setmodule("their_project")
    assert locs(harvest(site.url, settings=settings)) == [f"{site.url}/a", f"{site.url}/b"]
    assert site.user_agents == {"his"}
    assert not (tmp_path / "urls.csv").exists()
    assert not (tmp_path / "closing.json").exists()


def test_settings_may_have_outputs_of_their_own(site: Site, tmp_path: Path) -> None:
    feeds = {tmp_path / "urls.csv": {"format": "csv", "item_classes": ["sitemap_harvest.UrlEntry"]}}
    result = harvest(site.url, settings={"FEEDS": feeds, "FEED_EXPORT_FIELDS": ["loc"]})
    assert (tmp_path / "urls.csv").read_text().split() == ["loc", *locs(result)]
    assert [(output.items, output.ok) for output in result.summary.outputs] == [(2, True)]
    assert "sitemap" in result.urls.schema.names


@pytest.mark.quick
def test_the_signature_and_the_names_complete_in_editors() -> None:
    names = list(inspect.signature(harvest).parameters)
    assert names == ["targets", "settings", *(name for name in ARGUMENTS if name != "consumer")]
    assert set(dir(sitemap_harvest)) >= set(sitemap_harvest.__all__)
    with pytest.raises(ImportError, match=r"from sitemap_harvest.spiders import HarvestSpider"):
        from sitemap_harvest import HarvestSpider  # noqa: F401
    with pytest.raises(ImportError, match=r"from sitemap_harvest.spiders.sitemap import SitemapSpider"):
        from sitemap_harvest import SitemapSpider  # noqa: F401
