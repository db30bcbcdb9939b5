"""The settings of the project win, wherever it sets them, for our own spiders too."""

from __future__ import annotations

import json

import pytest

from sitemap_harvest.integration import default_settings as defaults
from tests.site import urlset

_WORDS = {"FEED_EXPORT_ENCODING": "latin-1", "RETRY_GIVE_UP_LOG_LEVEL": "DEBUG"}


def another(name, value):
    """Return a value for the setting *name* that is not ours."""
    if isinstance(value, bool):
        return not value
    return value + 7 if isinstance(value, int) else _WORDS.get(name, "theirs")


THEIRS = {name: another(name, value) for name, value in defaults.PLAIN.items()}
"""Made from the defaults, so that new settings are covered too."""


def to(project, *rows, custom="", after=""):
    """Write a spider that is derived from ours, with *custom* settings, and *rows* into ``settings.py``."""
    (project.module / "spiders/mine.py").write_text(
        "from sitemap_harvest.spiders.sitemap import SitemapSpider\n\n\n"
        f"class Mine(SitemapSpider):\n    name = 'mine'\n    custom_settings = {custom or {}}\n{after}"
    )
    project.configure("\n".join(rows))
    return "mine"


def in_settings_py(project):
    project.configure("\n".join(f"{name} = {value!r}" for name, value in THEIRS.items()))
    return "sitemap", ()


def in_custom_settings(project):
    return to(project, custom=THEIRS), ()


def in_update_settings(project):
    after = f"""
    @classmethod
    def update_settings(cls, settings):
        super().update_settings(settings)
        for name, value in {THEIRS}.items():
            settings.set(name, value, priority="spider")
"""
    return to(project, after=after), ()


def in_from_crawler(project):
    after = f"""
    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        for name, value in {THEIRS}.items():
            crawler.settings.set(name, value, priority="spider")
        return spider
"""
    return to(project, after=after), ()


def on_the_command_line(project):
    return "sitemap", tuple(part for name, value in THEIRS.items() for part in ("-s", f"{name}={value}"))


def in_an_add_on(when, order):
    def place(project):
        project.configure(f"WISHES_{when} = {json.dumps(THEIRS)!r}\nADDONS['myproject.parts.Addon'] = {order}")
        undefined = "ROBOTSTXT_OBEY = None; FEED_EXPORT_ENCODING = None"  # which the template sets
        project.configure("\n".join(f"del {row.partition(' =')[0]}" for row in undefined.split("; ")))
        project.configure("del TELNETCONSOLE_ENABLED, REMOTE_CONTROL_ENABLED")
        return "sitemap", ()

    return place


PLACES = [
    in_settings_py,
    in_custom_settings,
    in_update_settings,
    in_from_crawler,
    on_the_command_line,
    pytest.param(in_an_add_on("EARLY", 900), id="in_an_add_on_before_the_crawler"),
    pytest.param(in_an_add_on("LATE", 100), id="in_an_add_on_before_ours"),
    pytest.param(in_an_add_on("LATE", 900), id="in_an_add_on_after_ours"),
]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "s.xml"
    path.write_text(urlset("https://a.example/1"))
    return path


@pytest.mark.parametrize("place", PLACES)
def test_a_setting_of_the_project_wins(project, source, tmp_path, place):
    spider, arguments = place(project)
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path)}  # in which Scrapy's telnet console leaves a file
    ran = project.crawl(spider, "-a", f"sitemap={source}", "-O", "urls.jsonl", *arguments, environment=home)
    settings = ran.dump["settings"]
    expected = {name: value if arguments == () else str(value) for name, value in THEIRS.items()}
    assert {name: settings[name] for name in THEIRS} == {name: repr(value) for name, value in expected.items()}
    assert ran.locs() == ["/1"]
    loaded = {*ran.dump["parts"]["downloader_middlewares"], *ran.dump["parts"]["extensions"]}
    assert loaded >= {
        "scrapy.downloadermiddlewares.cookies.CookiesMiddleware",
        "scrapy.extensions.telnet.TelnetConsole",
        "scrapy.extensions.remote_control.RemoteControl",
    }


@pytest.mark.quick
def test_our_settings_apply_where_the_project_sets_none(project, source):
    project.configure("del ROBOTSTXT_OBEY, FEED_EXPORT_ENCODING, TELNETCONSOLE_ENABLED, REMOTE_CONTROL_ENABLED")
    settings = project.crawl("sitemap", "-a", f"sitemap={source}").dump["settings"]
    assert {name: settings[name] for name in defaults.PLAIN} == {
        name: repr(value) for name, value in defaults.PLAIN.items()
    }


PARTS = {
    "EXTENSIONS": [defaults.FEED_EXPORTER],
    "DOWNLOADER_MIDDLEWARES": list(defaults.DOWNLOADER_MIDDLEWARES),
}


@pytest.mark.parametrize("way", ["settings.py", "-s"])
def test_a_component_that_the_project_disabled_stays_disabled(project, source, way):
    off = {name: dict.fromkeys(paths) for name, paths in PARTS.items()}
    off["EXTENSIONS"] |= {"myproject.parts.Listen": 0}
    off["FEED_EXPORTERS"] = dict.fromkeys(defaults.FEED_EXPORTERS, "myproject.parts.LocsExporter")
    given = [part for name, value in off.items() for part in ("-s", f"{name}={json.dumps(value)}")]
    if way == "settings.py":
        project.configure("\n".join(f"{name} = {value!r}" for name, value in off.items()))
        given = []
    ran = project.crawl("sitemap", "-a", f"sitemap={source.as_uri()}", *given)
    parts = ran.dump["parts"]
    loaded = {*parts["extensions"], *parts["downloader_middlewares"]}
    assert not loaded & {path for paths in PARTS.values() for path in paths}
    exporters = ran.dump["settings"]["FEED_EXPORTERS"]
    assert set(exporters.values()) == {"'myproject.parts.LocsExporter'"}
