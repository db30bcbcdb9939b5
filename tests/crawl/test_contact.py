"""The requests name a contact for the owners of sites."""

from __future__ import annotations

import pytest
import scrapy

from sitemap_harvest import __version__
from tests.site import Page, urlset

CONTACT = "https://example.com/bot"


def as_agent(contact: str) -> str:
    return f"sitemap_harvest/{__version__} (+{contact}) Scrapy/{scrapy.__version__}"


@pytest.mark.parametrize("contact", [CONTACT, "bot@example.com", "mailto:bot@example.com"])
def test_the_contact_is_in_each_request(serve, crawl, contact):
    site = serve({"/s.xml": urlset("/1")})
    crawl(sitemap=f"{site.url}/s.xml", settings={"SITEMAP_HARVEST_CONTACT": contact})
    assert site.count("/robots.txt") == 1
    assert site.user_agents == {as_agent(contact)}


def test_a_user_agent_of_the_project_stays(serve, crawl):
    site = serve({"/s.xml": urlset("/1")})
    crawl(sitemap=f"{site.url}/s.xml", settings={"SITEMAP_HARVEST_CONTACT": CONTACT, "USER_AGENT": "theirs"})
    assert site.user_agents == {"theirs"}


@pytest.mark.parametrize(
    ("robot", "is_forbidden"), [("sitemap_harvest", True), ("scrapy", True), ("example", False), ("bot", False)]
)
def test_robots_rules_apply_by_our_name_and_not_by_the_contact(serve, crawl, robot, is_forbidden):
    rules = f"User-agent: {robot}\nDisallow: /\n"
    site = serve({"/robots.txt": Page(rules), "/s.xml": urlset("/1")})
    run = crawl(sitemap=f"{site.url}/s.xml", settings={"SITEMAP_HARVEST_CONTACT": CONTACT})
    assert run.fates(site.url) == {"/s.xml": "forbidden" if is_forbidden else "read"}


@pytest.mark.parametrize(
    "contact",
    [
        "someone",
        "a b@example.com",
        "bot@example.com\nX-Evil: 1",
        "bøt@example.com",
        "https://",
        "(a)@b.example",
        "a@b\\",
    ],
    ids=["word", "space", "line-break", "not-ascii", "no-host", "parentheses", "backslash"],
)
def test_an_invalid_contact_ends_the_run(serve, crawl, contact):
    site = serve({"/s.xml": urlset("/1")})
    run = crawl(sitemap=f"{site.url}/s.xml", settings={"SITEMAP_HARVEST_CONTACT": contact}, calm=False)
    assert f"SITEMAP_HARVEST_CONTACT is {contact!r}; it must be an email address or a URL" in run.log
    assert "Traceback" not in run.log
    assert (run.reason, site.requests) == ("wrong_argument", [])
