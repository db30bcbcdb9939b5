"""The report as Markdown, for a comment."""

from __future__ import annotations

import re

from lxml import html
from markdown_it import MarkdownIt

from sitemap_harvest.audit.explanation import all_rules, explanation_of
from sitemap_harvest.audit.report.markdown import render_markdown
from sitemap_harvest.model import Severity
from tests.audit.reporting import NASTY, SITE, SITEMAP, audited, finding, sample


def rendered(text: bytes) -> html.HtmlElement:
    """Return *text* as a site for code shows it, which lets some HTML pass."""
    return html.fromstring(MarkdownIt("gfm-like", {"linkify": False}).render(text.decode()))


def test_a_sample_whose_texts_the_message_has_is_shown_by_its_url() -> None:
    value = f"{SITE}/de, which does not name {SITE}/en"
    samples = (sample(f"{SITE}/en", position=1, value=value), sample(value=value, position=2))
    found = finding("hreflang/missing-return", message=f"2 without a return link, such as {value}", samples=samples)
    assert [line for line in render_markdown([audited(found)]).decode().splitlines() if line.startswith("  - ")] == [
        f"  - `{SITE}/en`, entry 1",
        f"  - `{value}`, entry 2",
    ]


def test_a_sample_whose_url_begins_another_one_in_the_message_is_shown() -> None:
    message = f"2 URLs with a different lastmod: 2025-01-02, but 2025-05-02 in {SITE}/b.xml"
    samples = (sample(f"{SITE}/", position=1), sample(f"{SITE}/b", position=2), sample(f"{SITE}/b.xml", position=3))
    found = finding("url/conflicting-lastmod", message=message, samples=samples)
    assert [line for line in render_markdown([audited(found)]).decode().splitlines() if line.startswith("  - ")] == [
        f"  - `{SITE}/`, entry 1",
        f"  - `{SITE}/b`, entry 2",
        f"  - `{SITE}/b.xml`, entry 3",
    ]


def test_the_report_has_a_table_and_details() -> None:
    samples = (sample(f"{SITE}/a#b", position=3), sample(value="with", position=12))
    found = finding("url/fragment", message="4 URLs with a fragment", count=4, samples=samples)
    of_site = (sample(value="the message"), sample(f"{SITE}/c", position=2))
    mild = finding("loc/relative", Severity.NOTICE, sitemap=None, samples=of_site)
    audit = audited(mild, found, change_flapping="there is one run", change_gone="there is one run")
    audit.summary.lastmod_trust = 70
    assert (
        render_markdown([audit]).decode()
        == """\
## Sitemap audit

### `https://www.example.com`

1 finding of 2 rules (1 error) in 3 URLs of 1 document; rules passed: 0, not checked: 2

trust in lastmod: 70 of 100

| severity | rule | documents | count | first finding | in |
|---|---|--:|--:|---|---|
| error | `url/fragment` | 1 | 4 | `4 URLs with a fragment` | `/sitemap.xml` |
| notice | `loc/relative` |  | 1 | `the message` | `https://www.example.com` |

<details><summary><code>url/fragment</code></summary>

A listed URL contains a fragment (`#`).

- `/sitemap.xml`: `4 URLs with a fragment`
  - `https://www.example.com/a#b`, entry 3
  - `with`, entry 12

Fix: List the URL without the fragment. Give views of an application that have only a fragment paths of their own.

</details>

<details><summary><code>loc/relative</code></summary>

The URL is relative; it was resolved against the URL of the document.

- `https://www.example.com`: `the message`
  - `https://www.example.com/c`, entry 2 of `/sitemap.xml`

Fix: Write the full URL, with https:// and the host.

</details>

<details><summary>Not checked: 2</summary>

- `there is one run`: `change/flapping`, `change/gone`

</details>
"""
    )


def test_text_of_the_site_is_code_and_nothing_else() -> None:
    texts = [NASTY, "`", "``", " ` ", "a\\|b", "\\", "a\nb", "| `x` |", "~~a~~", "<b>", "&lt;"]
    audit = audited(
        *(finding("url/fragment", sitemap=f"{SITEMAP}?{text}", message=text) for text in texts),
        *(finding("url/unescaped", message="m", samples=(sample(text, value=text),)) for text in texts[:5]),
    )
    page = rendered(render_markdown([audit]))
    for code in page.iter("code"):
        assert not len(code)
        code.drop_tree()
    text = page.text_content()
    assert not re.search(r"[@`|]|script|evil|#1|&lt", text)
    assert {element.tag for element in page.iter()} <= {
        "div", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "ul", "li"
    }  # fmt: skip


def test_code_shows_the_text_itself() -> None:
    texts = ["a|b", "`", "``a`", "a\\|b", "<script>", "@me #1", "x" * 300]
    audit = audited(finding("url/fragment", samples=tuple(map(sample, texts))))
    shown = [code.text for code in rendered(render_markdown([audit])).iter("code")]
    assert [text for text in texts if text not in shown] == []


def test_a_report_fits_in_a_comment() -> None:
    rules = ["url/fragment", "url/unescaped", "loc/relative", "sitemap/empty", "lastmod/future"]
    many = [
        finding(rule, message="\u00e9" * 5_000, samples=(sample("x" * 3_000, value="\U0010ffff" * 300),) * 5)
        for rule in rules
        for _ in range(20)
    ]
    text = render_markdown([audited(*many)] * 40)
    assert 30_000 < len(text) < 65_536
    assert text.endswith(b"The comment is too long to show everything.\n")
    assert text.count(b"<details>") == text.count(b"</details>")


def test_what_the_catalogue_says_is_shown_as_it_is() -> None:
    for rule in all_rules():
        page = rendered(render_markdown([audited(finding(rule))]))
        known = explanation_of(rule)
        shown = [paragraph.text_content().replace("`", "") for paragraph in page.iter("p")]
        assert known.title.replace("`", "") in shown
        assert f"Fix: {known.fix}".replace("`", "") in shown


def test_details_of_several_sites_name_the_site() -> None:
    audit = audited(finding("url/fragment"), change_flapping="there is one run")
    audit.summary.site = "https://www.example.com/<b>"
    other = audited(change_flapping="there is one run", change_gone="there is one run")
    text = render_markdown([audit, audit, other]).decode()
    where = " on <code>https://www.example.com/&lt;b&gt;</code>"
    assert text.count(f"<details><summary><code>url/fragment</code>{where}</summary>") == 2
    assert text.endswith("""
<details><summary>Not checked: 2</summary>

- `there is one run`: `change/flapping`, `change/gone` (1 of 3 sites)

</details>
""")


def test_no_site_is_a_valid_report() -> None:
    assert render_markdown([]) == b"## Sitemap audit\n"
