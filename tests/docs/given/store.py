"""Makes a store of snapshots of https://a.example in the given folder, as crawls of three days leave it."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.snapshots.store.making import SITE, Making, entry

CHANGED = datetime(2026, 10, 30, 9, 0, tzinfo=UTC)
PRODUCTS = [f"{SITE}/products/{name}" for name in ("oak-desk", "oak-shelf", "walnut-stool", "desk-lamp", "clay-vase")]
PAGES = [entry(f"{SITE}/", lastmod=CHANGED), entry(f"{SITE}/about", lastmod=CHANGED), f"{SITE}/contact"]

making = Making(sys.argv[1], compares=True)
making.run({f"{SITE}/products.xml": PRODUCTS, f"{SITE}/pages.xml": PAGES})
making.run({f"{SITE}/products.xml": [*PRODUCTS[1:], f"{SITE}/products/bread-knife"], f"{SITE}/pages.xml": None})
making.run({f"{SITE}/products.xml": None, f"{SITE}/pages.xml": None})
