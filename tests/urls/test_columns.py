from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from sitemap_harvest.urls import WHITESPACE, address_columns, resolve, site_of, url_key
from tests.urls.test_key import urls

BASE = "https://example.com/sitemap.xml"
odd = st.sampled_from(
    ["", " ", "/a", "mailto:x", "ftp://e.x/", " https://e.x/b\n", "http://e.x/a\n", "www.e.x", "http://["]
)
plain = st.sampled_from(["https://example.com/a", "https://example.com/b?c=d", "https://other.example/a"])


@given(st.lists(urls | odd | plain, max_size=6) | st.lists(plain, max_size=6))
def test_columns_match_single_urls(texts: list[str]) -> None:
    columns = address_columns(pa.array(texts, pa.string()), BASE)
    addresses = [resolve(text, BASE) for text in texts]
    assert columns.loc.to_pylist() == [address.loc for address in addresses]
    assert columns.loc_raw.to_pylist() == [
        text if address.loc != text else None for text, address in zip(texts, addresses, strict=True)
    ]
    assert columns.key.to_pylist() == [address.loc and url_key(address.loc) for address in addresses]
    assert columns.site.to_pylist() == [address.loc and site_of(address.loc) for address in addresses]
    flaws = {code: [row for row, one in enumerate(addresses) if one.flaw == code] for _, code in addresses if code}
    assert list(columns.flaws.items()) == list(flaws.items())


def test_slices_of_columns_are_read() -> None:
    texts = pa.array(["", "https://e.x/a", "/b"], pa.string()).slice(1)
    columns = address_columns(texts, BASE)
    assert columns.key.to_pylist() == ["https://e.x/a", "https://example.com/b"]
    assert columns.flaws == {"loc/relative": [1]}


def test_arrow_and_python_trim_the_same_whitespace() -> None:
    assert all(f"{blank}a{blank}".strip(WHITESPACE) == "a" for blank in WHITESPACE)
