"""Imported last before processes are forked: everything that Scrapy loads for each command and each crawl.

The garbage collector ignores the objects that exist by then. Otherwise it would scan all of them several times in a
crawl that takes a fifth of a second.
"""

import atexit
import gc
from collections.abc import Iterator
from typing import Any

from scrapy.settings import Settings
from scrapy.utils.misc import load_object, walk_modules_iter


def _components(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for pair in value.items():
            for part in pair:
                yield from _components(part)
    elif isinstance(value, str) and value.startswith("scrapy."):
        yield value


for _ in walk_modules_iter("scrapy.commands"):
    pass
for path in _components(Settings().copy_to_dict()):
    load_object(path)
gc.collect()
gc.freeze()
atexit.register(gc.unfreeze)  # without it, extensions log errors at the end about missing references
