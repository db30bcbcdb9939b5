"""Pipelines as projects have them: each sets, reads or replaces items in one of the usual ways."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import scrapy
from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from sitemap_harvest import UrlBatch


class SetsKey:
    def process_item(self, item: Any) -> Any:
        item["source"] = "shop"
        return item


class SetsAttribute:
    def process_item(self, item: Any) -> Any:
        item.source = "shop"
        return item


class SetsByAdapter:
    def process_item(self, item: Any) -> Any:
        adapter = ItemAdapter(item)
        if adapter.get("price") is None and "source" not in adapter:
            adapter["source"] = "shop"
        return item


class SetsLater:
    async def process_item(self, item: Any) -> Any:
        item.update({"source": "shop"})
        return item


class SetsDefault:
    def process_item(self, item: Any) -> Any:
        assert item.get("title") is None
        assert item.get("source", "none") == "none"
        assert "source" not in item
        item.setdefault("source", "shop")
        return item


class Deletes:
    def process_item(self, item: Any) -> Any:
        del item["changefreq"]
        item.pop("key")
        item["source"] = item.pop("missing", "shop")
        return item


class Copies:
    def process_item(self, item: Any) -> Any:
        made = copy.deepcopy(item).copy()
        made["source"] = "shop"
        return made


class ReturnsDict:
    def process_item(self, item: Any) -> Any:
        return dict(item, source="shop")


class ReturnsAdapted:
    def process_item(self, item: Any) -> Any:
        return {**ItemAdapter(item).asdict(), "source": "shop"}


class ReturnsFewerFields:
    def process_item(self, item: Any) -> Any:
        return {"loc": item["loc"], "source": "shop"}


class Product(scrapy.Item):
    loc = scrapy.Field()
    source = scrapy.Field()


class ReturnsItem:
    def process_item(self, item: Any) -> Any:
        return Product(loc=item["loc"], source="shop")


class Duplicates:
    """The filter of Scrapy's documentation."""

    def __init__(self) -> None:
        self.ids_seen: set[str] = set()

    def process_item(self, item: Any) -> Any:
        adapter = ItemAdapter(item)
        if adapter["loc"] in self.ids_seen:
            raise DropItem(f"Item ID already seen: {adapter['loc']}")
        self.ids_seen.add(adapter["loc"])
        adapter["source"] = "shop"
        return item


class JsonWriter:
    """The writer of Scrapy's documentation."""

    def __init__(self, crawler: Crawler) -> None:
        self._path = Path(crawler.settings["WRITTEN"])

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def open_spider(self) -> None:
        self._file = self._path.open("w")

    def close_spider(self) -> None:
        self._file.close()

    def process_item(self, item: Any) -> Any:
        self._file.write(json.dumps(ItemAdapter(item).asdict()) + "\n")
        return item


class AddsValues:
    """Adds values of every type."""

    def process_item(self, item: Any) -> Any:
        number = item["position"]
        item["number"] = number
        item["share"] = number / 4
        item["is_odd"] = bool(number % 2)
        item["tags"] = ["a", "ö"][: number - 1]
        item["nested"] = {"deep": [number, {"x": None}]}
        item["mixed"] = "ö, one" if number == 1 else number
        item["only first"] = 1 if number == 1 else None
        return item


class AddsLate:
    """Adds a field to the last items."""

    def process_item(self, item: Any) -> Any:
        number = int(item["loc"].rpartition("p")[2])
        if number > 11_000:
            item["late"] = number
        return item


class AddsColumn:
    """Adds a column to a batch."""

    def process_batch(self, batch: UrlBatch) -> UrlBatch:
        import pyarrow as pa

        return batch.with_columns(source=pa.repeat("shop", len(batch)))


class ReadsSource:
    """Reads what an earlier pipeline added."""

    def process_item(self, item: Any) -> Any:
        item["again"] = f"{item['source']} {item.source}"
        return item


class LosesUnion:
    """Sets a field of the package to a value of another form."""

    def process_item(self, item: Any) -> Any:
        item["images"] = [{"url": item["loc"], "path": "full/a.jpg"}]
        return item
