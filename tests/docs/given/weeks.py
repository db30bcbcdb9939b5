"""Makes a store of snapshots of two sites in the given folder, as weekly crawls leave it."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from sitemap_harvest.model import Problem
from tests.snapshots.store.making import BEGAN, SITE, Making, entry

B = "https://b.example"
CUT = Problem(code="xml/truncated", document=f"{B}/sitemap.xml", detail="the document ends within an element")
NO_DATES = Problem(code="lastmod/unreadable", document=f"{SITE}/blog.xml", detail="yesterday", count=2)

making = Making(sys.argv[1], every=timedelta(days=7), compares=True)
posts, products = 4, 12
for week in range(4):
    blog = [
        entry(f"{SITE}/blog/{n}", lastmod=BEGAN + timedelta(days=7 * n - 28) if n > 1 else None)
        for n in range(posts + week)
    ]
    shop = [entry(f"{SITE}/products/{n}", lastmod=BEGAN - timedelta(days=20 * n)) for n in range(week * 2, products)]
    writer = making.begin(SITE)
    records = [making.document(writer, f"{SITE}/{name}.xml", rows) for name, rows in (("blog", blog), ("shop", shop))]
    records[0].problems = (NO_DATES,)
    making.commit(writer, records)
writer = making.begin(B)
record = making.document(writer, f"{B}/sitemap.xml", [f"{B}/", f"{B}/contact"])
record.problems, record.root = (CUT,), B
making.commit(writer, [record])
