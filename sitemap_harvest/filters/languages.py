"""The ``lang`` filter: which rows declare one of the requested languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sitemap_harvest.urls import BLANKS, address_columns

if TYPE_CHECKING:
    from sitemap_harvest.model import UrlBatch


def is_in(batch: UrlBatch, languages: tuple[str, ...]) -> pa.BooleanArray:
    """Return whether each row is in one of *languages*: in lower case with hyphens, such as ``de`` or ``de-at``.

    A row declares its language with an alternate that links to itself, or as news.
    ``de`` includes ``de-AT``, but ``de-AT`` does not include all of ``de``: the basic
    filtering of https://www.rfc-editor.org/rfc/rfc4647#section-3.3.1
    """
    is_row = np.zeros(len(batch), dtype=bool)
    is_row[_by_alternate(batch, languages)] = True
    is_row[_by_news(batch, languages)] = True
    return pa.array(is_row)


def _by_alternate(batch: UrlBatch, languages: tuple[str, ...]) -> pa.IntegerArray:
    """Return the indices of rows with an alternate in one of *languages* that links to the row's own URL."""
    alternates = pc.list_flatten(batch["alternates"])
    wanted = pc.and_(_is_any(pc.struct_field(alternates, "hreflang"), languages), _has(alternates, "href"))
    rows = pc.list_parent_indices(batch["alternates"]).filter(wanted)
    keys = address_columns(pc.struct_field(alternates.filter(wanted), "href"), None).key
    return rows.filter(pc.equal(keys, batch["key"].take(rows)))


def _by_news(batch: UrlBatch, languages: tuple[str, ...]) -> pa.IntegerArray:
    published = pc.struct_field(pc.list_flatten(batch["news"]), "publication_language")
    return pc.list_parent_indices(batch["news"]).filter(_is_any(published, languages))


def _has(structs: pa.StructArray, name: str) -> pa.BooleanArray:
    return pc.struct_field(structs, name).is_valid()


def _is_any(tags: pa.StringArray, languages: tuple[str, ...]) -> pa.BooleanArray:
    """Return whether each of *tags*, as published, is one of *languages*; ``False`` for null."""
    tags = pc.replace_substring(pc.ascii_lower(pc.utf8_trim(tags, characters=BLANKS)), "_", "-")
    wanted = pc.is_in(tags, value_set=pa.array(languages, pa.string()))
    for language in languages:
        wanted = pc.or_(wanted, pc.fill_null(pc.starts_with(tags, f"{language}-"), fill_value=False))
    return wanted
