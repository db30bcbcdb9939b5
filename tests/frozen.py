"""Imported last before processes are forked off: what Scrapy loads for each command and each crawl.

The garbage collector leaves alone what is there by then. It would look through all of it, several times in a crawl that
is over in a fifth of a second.
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
atexit.register(gc.unfreeze)  # without, extensions complain at the end of what they have not got back
