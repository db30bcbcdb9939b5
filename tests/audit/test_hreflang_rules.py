"""Rules about language versions: each with entries that trip it, and some that nearly do."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from sitemap_harvest.audit.languages import hreflang_flaw, is_language
from sitemap_harvest.model import Alternate, UrlEntry
from tests.audit.auditing import SITE, SITEMAP, audited, seen, urls

if TYPE_CHECKING:
    from pathlib import Path

DE, EN, FR = (f"{SITE}/{language}" for language in ("de", "en", "fr"))


def page(loc: str, **versions: str) -> UrlEntry:
    """Return an entry with these language versions; ``_`` in a name is a hyphen."""
    alternates = [Alternate(href=href, hreflang=name.replace("_", "-")) for name, href in versions.items()]
    (entry,) = urls(loc, alternates=tuple(alternates))
    return entry


def raw(loc: str, hreflang: str, href: str | None) -> UrlEntry:
    (entry,) = urls(loc, alternates=(Alternate(href=href, hreflang=hreflang),))
    return entry


CASES: list[Any] = [
    (
        "hreflang/invalid-code",
        [raw(DE, "en_US", EN), raw(EN, "jp", DE)],
        [page(DE, de=DE, en_GB=EN, zh_Hant_TW=FR, x_default=EN), raw(EN, "EN-us", DE)],
        [
            (DE, "en_US (it has an underscore instead of a hyphen)"),
            (EN, "jp (jp is not an ISO 639-1 language)"),
        ],
    ),
    (
        "hreflang/invalid-url",
        [raw(DE, "en", "/en"), raw(EN, "de", ""), raw(FR, "de", None)],
        [raw(DE, "en", " HTTPS://a.example/en ")],
        [(DE, "en: /en"), (EN, "de: no href"), (FR, "de: no href")],
    ),
    (
        "hreflang/missing-self",
        [page(DE, en=EN), page(EN, de=DE, en=EN)],
        [page(DE, de="HTTPS://a.example/de", en=EN), *urls(EN)],
        [(DE, None)],
    ),
    (
        "hreflang/missing-return",
        [page(DE, de=DE, en=EN), page(EN, en=EN)],
        [page(DE, de=DE, en=EN, fr=FR), page(EN, en="https://A.example/en", de="https://A.example/de")],
        [(DE, f"{EN}, which does not name {DE}")],
    ),
    (
        "hreflang/several-urls",
        [urls(DE, alternates=(Alternate(href=EN, hreflang="en"), Alternate(href=FR, hreflang="EN")))[0]],
        [urls(DE, alternates=(Alternate(href=EN, hreflang="en"), Alternate(href=f"{EN}#x", hreflang="de")))[0]],
        [(DE, f"en: {EN}, {FR}")],
    ),
    (
        "hreflang/no-x-default",
        [page(DE, de=DE, en=EN, fr=FR)],
        [
            page(DE, de=DE, en=EN, fr="/relative"),
            page(FR, de=DE, en=EN, en_UK=FR),
            page(EN, de=DE, en=EN, fr=FR, x_default=EN),
        ],
        [(DE, None)],
    ),
    (
        "hreflang/target-not-listed",
        [page(DE, de=DE, en=EN, x_default=EN), page(FR, en=EN)],  # one version that three references name
        [page(DE, de=DE, en=EN, fr="https://b.example/"), *urls(EN)],
        [(DE, EN)],
    ),
]


@pytest.mark.parametrize(("rule", "trips", "nearly", "samples"), CASES, ids=[case[0] for case in CASES])
def test_a_rule_and_what_nearly_trips_it(
    rule: str, trips: list[UrlEntry], nearly: list[UrlEntry], samples: list[Any], tmp_path: Path
) -> None:
    found = [*map(seen, audited(tmp_path / "trips", rule, {SITEMAP: (trips, {})}))]
    assert found == [(SITEMAP, len(samples), samples)]
    assert audited(tmp_path / "nearly", rule, {SITEMAP: (nearly, {})}) == []


def test_groups_that_name_different_urls_for_a_language(tmp_path: Path) -> None:
    rule = "hreflang/conflicting-clusters"
    trips = [page(DE, de=DE, en=EN), page(f"{DE}-at", de=f"{DE}-at", en=EN)]
    assert [*map(seen, audited(tmp_path / "trips", rule, {SITEMAP: (trips, {})}))] == [
        (None, 1, [(EN, f"de: {DE}, {DE}-at")])
    ]
    nearly = [page(DE, de=DE, en=EN), page(EN, de=DE, en=EN, fr=FR), page(FR, fr=FR, x_default=EN)]
    assert audited(tmp_path / "nearly", rule, {SITEMAP: (nearly, {})}) == []


def test_a_url_in_groups_that_differ_in_two_languages_counts_once(tmp_path: Path) -> None:
    groups = [page(DE, de=DE, en=EN, fr=FR), page(f"{DE}-at", de=f"{DE}-at", en=EN, fr=f"{FR}-be")]
    (finding,) = audited(tmp_path, "hreflang/conflicting-clusters", {SITEMAP: (groups, {})})
    assert seen(finding) == (None, 1, [(EN, f"de: {DE}, {DE}-at")])
    assert finding.message == f"1 URL in language groups that contradict each other, such as de: {DE}, {DE}-at"


def test_groups_in_which_each_version_is_named_twice(tmp_path: Path) -> None:
    groups = [page(DE, de=DE, en=EN), page(f"{DE}-at", de=f"{DE}-at", en=EN)]
    twice = [dataclasses.replace(entry, alternates=(entry.alternates or ()) * 2) for entry in groups]
    (finding,) = audited(tmp_path, "hreflang/conflicting-clusters", {SITEMAP: (twice, {})})
    assert seen(finding) == (None, 1, [(EN, f"de: {DE}, {DE}-at")])


@pytest.mark.parametrize(
    ("code", "flaw"),
    [
        ("de", ""),
        ("de-AT", ""),
        ("zh-Hans", ""),
        ("sr-Latn-RS", ""),
        ("X-Default", ""),
        (" en ", ""),
        ("iw", ""),
        ("en-UK", "uk is not an ISO 3166-1 country"),
        ("en-EU", "eu is not an ISO 3166-1 country"),
        ("es-419", "419 is not an ISO 3166-1 country"),
        ("uk-en", "en is not an ISO 3166-1 country"),
        ("fil", "fil is not an ISO 639-1 language"),
        ("zh-Abcd", "abcd is not an ISO 15924 script"),
        ("en-US-x", "us-x is not an ISO 3166-1 country"),
        ("", "an empty value is not an ISO 639-1 language"),
    ],
)
def test_the_codes_of_hreflang(code: str, flaw: str) -> None:
    assert hreflang_flaw(code) == flaw


def test_languages_of_two_and_three_letters() -> None:
    assert [is_language(code) for code in ("en", "GSW", "fil", "xx", "english", "")] == [True] * 3 + [False] * 3
