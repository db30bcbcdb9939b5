"""Targets with a login: the requests, and the hosts that receive the password."""

from __future__ import annotations

from base64 import b64encode

import pytest

from sitemap_harvest.config.arguments import RunConfig
from sitemap_harvest.config.targets import Credentials
from sitemap_harvest.errors import ArgumentError

pytestmark = pytest.mark.quick


def basic(login: str) -> str:
    return "Basic " + b64encode(login.encode()).decode()


@pytest.mark.parametrize(
    ("given", "urls", "logins"),
    [
        pytest.param(
            {"site": "https://me:secret@a.example"},
            ["https://a.example/robots.txt"],
            {"https://a.example": "me:secret"},
            id="site",
        ),
        pytest.param(
            {"site": "me:secret@a.example"},
            ["https://a.example/robots.txt"],
            {"https://a.example": "me:secret"},
            id="site-without-scheme",
        ),
        pytest.param(
            {"sitemap": "https://me:secret@a.example/s.xml"},
            ["https://a.example/s.xml"],
            {"https://a.example": "me:secret"},
            id="sitemap",
        ),
        pytest.param(
            {"sitemap": "me:secret@a.example/s.xml"},
            ["https://a.example/s.xml"],
            {"https://a.example": "me:secret"},
            id="sitemap-without-scheme",
        ),
        pytest.param(
            {"sitemap": ["https://me:secret@a.example/s.xml", "https://a.example/t.xml"]},
            ["https://a.example/s.xml", "https://a.example/t.xml"],
            {"https://a.example": "me:secret"},
            id="named-again-without",
        ),
        pytest.param(
            {"site": "http://me:secret@a.example"},
            ["http://a.example/robots.txt"],
            {"http://a.example": "me:secret", "https://a.example": "me:secret"},
            id="the-secure-twin-too",
        ),
        pytest.param(
            {"site": "http://me:secret@a.example https://me:other@a.example"},
            ["http://a.example/robots.txt", "https://a.example/robots.txt"],
            {"http://a.example": "me:secret", "https://a.example": "me:other"},
            id="the-secure-twin-has-its-own",
        ),
        pytest.param(
            {"site": "http://me:secret@a.example:8080"},
            ["http://a.example:8080/robots.txt"],
            {"http://a.example:8080": "me:secret"},
            id="a-port-has-no-twin",
        ),
        pytest.param(
            {"site": "https://me:secret@A.Example:443/x"},
            ["https://a.example/robots.txt"],
            {"https://a.example": "me:secret"},
            id="one-spelling",
        ),
        pytest.param(
            {"site": "https://me:secret@bücher.example"},
            ["https://xn--bcher-kva.example/robots.txt"],
            {"https://xn--bcher-kva.example": "me:secret"},
            id="international-host",
        ),
        pytest.param(
            {"site": "http://me:secret@[::1]:8080"},
            ["http://[::1]:8080/robots.txt"],
            {"http://[::1]:8080": "me:secret"},
            id="ipv6",
        ),
        pytest.param(
            {"site": "https://m%40e:s%2F%3A%C3%A9@a.example"},
            ["https://a.example/robots.txt"],
            {"https://a.example": "m@e:s/:é"},
            id="escaped",
        ),
        pytest.param(
            {"site": "https://me:se@cret@a.example"},
            ["https://a.example/robots.txt"],
            {"https://a.example": "me:se@cret"},
            id="at-in-the-password",
        ),
        pytest.param(
            {"site": "https://me@a.example"},
            ["https://a.example/robots.txt"],
            {"https://a.example": "me:"},
            id="no-password",
        ),
        pytest.param(
            {"site": "https://:key@a.example"},
            ["https://a.example/robots.txt"],
            {"https://a.example": ":key"},
            id="no-user",
        ),
        pytest.param({"site": "https://@a.example"}, ["https://a.example/robots.txt"], {}, id="empty"),
        pytest.param({"site": "https://:@a.example"}, ["https://a.example/robots.txt"], {}, id="empty-with-colon"),
    ],
)
def test_a_login_is_removed_from_the_requested_url(given, urls, logins) -> None:
    config = RunConfig.of(given)
    assert [candidate.url for candidate in config.candidates] == urls
    assert config.logins == {site: basic(login) for site, login in logins.items()}
    assert "@" not in repr(config)
    assert "Basic" not in repr(config)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        pytest.param(
            {"site": "https://me:secret@a.example https://me:other@a.example"},
            "argument site: two different logins are given for https://a.example; give one",
            id="two-logins",
        ),
        pytest.param(
            {"site": "https://me:secret@a.example", "sitemap": "https://you:secret@a.example/s.xml"},
            "argument sitemap: two different logins are given for https://a.example; give one",
            id="two-users",
        ),
        pytest.param({"site": "https://m%3Ae:secret@a.example"}, "the user name in a URL contains a colon", id="colon"),
        pytest.param({"site": "https://me:se/cret@a.example"}, "in a password, write / as %2F", id="slash"),
        pytest.param({"site": "https://me:secret@"}, "argument site='https://***@': it must be a site", id="no-host"),
        pytest.param({"site": "ftp://me:secret@a.example"}, "'ftp://***@a.example': it must be a site", id="scheme"),
        pytest.param({"site": "https://me:secret@a.example/s.xml"}, "use sitemap= for a document", id="document"),
        pytest.param({"sitemap": "me:se/cret@a.example/s.xml"}, "in a password, write / as %2F", id="slash-2"),
        pytest.param({"sitemap": "https:/me:secret@a.example/s.xml"}, "***@a.example/s.xml", id="a-slash-too-few"),
        pytest.param({"sitemap": "ftp://me:secret@a.example/s.xml"}, "'ftp://***@a.example/s.xml'", id="scheme-2"),
        pytest.param({"sites": "https://me:secret@a.example"}, "use site= for a site", id="no-file"),
        pytest.param(
            {"site": "a.example", "root": "https://me:secret@a.example"}, "it must be an existing folder", id="root"
        ),
    ],
)
def test_messages_about_an_invalid_target_have_no_password(given, words) -> None:
    with pytest.raises(ArgumentError) as caught:
        RunConfig.of(given)
    assert words in str(caught.value)
    assert "cret" not in str(caught.value)
    assert "other" not in str(caught.value)


def test_lines_of_a_file_of_sites_have_logins_and_errors_do_not_show_them(tmp_path) -> None:
    file = tmp_path / "sites.txt"
    lines = ["https://me:secret@a.example", "b.example", "me:se/cret@c.example", "https://me:other@a.example"]
    file.write_text("\n".join(lines))
    config = RunConfig.of({"sites": str(file)})
    assert [candidate.root for candidate in config.candidates] == ["https://a.example", "https://b.example"]
    assert config.logins == {"https://a.example": basic("me:secret")}
    escapes = "in a password, write / as %2F, ? as %3F, # as %23, @ as %40 and a space as %20"
    why = "argument sites: two different logins are given for https://a.example; give one"
    assert config.no_sites == (
        ("***@c.example", f"{file}, line 3: '***@c.example' is not a site; {escapes}"),
        ("https://***@a.example", f"{file}, line 4: 'https://***@a.example': {why}"),
    )


@pytest.mark.parametrize("password", ["R%E9sum%e9", "R\udce9sum\udce9", "R%E9sum\udce9"])
def test_bytes_that_are_no_utf_8_are_sent_unchanged(password) -> None:
    logins = Credentials()
    logins.take("site", f"https://me:{password}@a.example")
    assert logins.headers == {"https://a.example": "Basic " + b64encode(b"me:R\xe9sum\xe9").decode()}
