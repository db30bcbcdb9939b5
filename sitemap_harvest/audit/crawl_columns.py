"""The columns of crawl exports: which column of Screaming Frog, Sitebulb, advertools and others has which field."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from sitemap_harvest.errors import CrawlExportError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NAMES = {
    "url": ("address", "url", "uri", "page url", "full url", "adresse", "direccion", "indirizzo", "endereco", "page"),
    "status": (
        *("status code", "http status code", "http status", "http code", "code http", "response code", "statuscode"),
        *("code de reponse", "code de statut", "codigo de respuesta", "codice di risposta", "codigo de resposta"),
        "status",  # last: that of Screaming Frog is a text
    ),
    "redirect_url": ("redirect url", "redirect uri", "redirect target", "url de redirection", "url de redireccion"),
    "redirect_urls": ("redirect urls",),  # of advertools: the URLs before that of the row
    "redirect_reasons": ("redirect reasons",),  # of advertools: their statuses
    "content_type": (
        *("content type", "mime type", "content", "resp headers content type", "type de contenu"),
        *("tipo de contenido", "inhaltstyp", "tipo di contenuto", "tipo de conteudo"),
    ),
    "x_robots_tag": ("x robots tag", "x robots", "resp headers x robots tag"),
    "meta_robots": ("meta robots", "robots"),
    "noindex": ("noindex",),  # of Sitebulb: Yes or No
    "canonical": (
        *("canonical link element", "canonical", "canonical url", "elemento de enlace canonico"),
        *("element de lien en version canonique", "element de lien canonique", "lien canonique"),
        *("kanonisches link element", "elemento link canonico", "elemento de link canonico"),
        *("http canonical", "canonical http", "http canonico"),
    ),
    "last_modified": ("last modified", "resp headers last modified"),
    "title": ("title", "page title", "titulo", "titre", "titel", "titolo"),
    "indexable": (
        *("indexability", "indexable", "is indexable", "indexabilidad", "indexabilite", "indexierbarkeit"),
        *("indicizzabilita", "indexabilidade", "indexable status"),
    ),
    "reason": (
        *("errors", "error", "status", "http status", "statut", "respuesta", "risposta", "indexability status"),
        *(
            "indexable status",
            "estado de indexabilidad",
            "statut d indexabilite",
            "indexierbarkeitsstatus",
            "stato di indicizzabilita",
        ),
        "status de indexabilidade",
    ),
    "requested_at": ("crawl timestamp", "crawl time", "crawled at"),
}
"""Names of the columns of each field, simplified; the first of these that a file has is the column of the field."""
FIELDS = tuple(_NAMES)
"""The fields that a column may have."""
SEVERAL = frozenset({"x_robots_tag", "meta_robots", "canonical", "reason"})
"""The fields for which all columns count, such as ``Meta Robots 1`` and ``Meta Robots 2``."""


def simplified(name: str) -> str:
    """Return *name* in lower case, without accents, punctuation and the number at its end."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))
    return re.sub(r" [0-9]+$", "", " ".join(re.findall(r"[^\W_]+", plain.casefold())))


def columns_of(header: Sequence[str], given: Mapping[str, str]) -> dict[str, list[int]]:
    """Return the columns of each field in *header*, most likely first; fields without one are absent.

    *given* are the names of columns that the user chose for fields. Raises
    :exc:`CrawlExportError` if there is no such column.
    """
    names = [simplified(name) for name in header]
    found = {
        field: [column for name in known for column, one in enumerate(names) if one == name]
        for field, known in _NAMES.items()
    }
    for field, name in given.items():
        found[field] = [column for column, one in enumerate(header) if one.strip().casefold() == name.casefold()]
        if not found[field]:
            raise CrawlExportError(f"there is no column {name!r} for {field}; the columns are: {', '.join(header)}")
    found["reason"] = [column for column in found["reason"] if column not in found["status"][:1]]
    return {field: columns if field in SEVERAL else columns[:1] for field, columns in found.items() if columns}
