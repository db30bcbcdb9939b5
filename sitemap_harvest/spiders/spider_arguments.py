"""``SpiderArguments``: the ``-a`` arguments of a spider, divided into arguments of the package and attributes."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from sitemap_harvest.config.arguments import ARGUMENTS, RunConfig, check_filters
from sitemap_harvest.errors import ArgumentError, probably_meant
from sitemap_harvest.integration.spider_attributes import OWN_NAME
from sitemap_harvest.page_visits.page_rules import visits_pages

if TYPE_CHECKING:
    from sitemap_harvest.integration.spider_attributes import SitemapAttributes

_TARGETS = ("site", "sites", "sitemap")
_OF_JOBS = ("_job", "_version", "_intervals", "_part")  # the first by Scrapyd or a worker, the second by Scrapyd


@dataclass(frozen=True, slots=True)
class SpiderArguments:
    """The ``-a`` arguments of a run."""

    ours: dict[str, Any]
    """Arguments of the package."""
    attributes: dict[str, Any]
    """Arguments that become attributes of the spider."""
    unusable: dict[str, Any]
    """Arguments that cannot become an attribute."""

    @classmethod
    def of(cls, arguments: dict[str, Any], spider: type[SitemapAttributes]) -> SpiderArguments:
        """Sort *arguments* for a *spider* class.

        Those that the class itself declares, as attributes or as parameters of its
        ``__init__``, are not arguments of the package.
        """
        declared: set[str] = set()
        for base in spider.__mro__:
            if not base.__module__.startswith(("sitemap_harvest.", "scrapy.", "builtins")):
                declared |= vars(base).keys()
                if "__init__" in vars(base):
                    declared |= inspect.signature(vars(base)["__init__"]).parameters.keys()
        ours = {name: arguments[name] for name in arguments.keys() & (ARGUMENTS.keys() - declared)}
        others = {name: value for name, value in arguments.items() if name not in ours}
        taken = others.keys() if spider.refuses_unknown_arguments else others.keys() & {OWN_NAME}
        taken -= {*_OF_JOBS}
        unusable = {name: others.pop(name) for name in list(others) if name in taken}
        return cls(ours, others, unusable)

    def config_for(self, spider: SitemapAttributes) -> RunConfig:
        """Return the configuration for *spider*. Raises :exc:`ArgumentError` if an argument or an attribute is invalid.

        If the arguments name nothing to harvest, the spider may still do so when the
        run begins.
        """
        if self.unusable and not spider.refuses_unknown_arguments:
            name, value = next(iter(self.unusable.items()))
            message = f"argument {name}: the spider itself uses this name; rename the argument"
            raise ArgumentError(name, value, "another name", message=message)
        given = self.ours
        if "sitemap_urls" in vars(spider):  # it has set them itself
            given = {name: value for name, value in given.items() if name not in _TARGETS}
        arguments: dict[str, Any] = {"emit": "none"} if visits_pages(spider) else {}
        arguments |= {**_defaults(spider, given), **given, **self.unusable}
        config = RunConfig.of(arguments, needs_target=spider.refuses_unknown_arguments)
        if not visits_pages(spider):  # filters select the pages
            check_filters(config)
        return config

    def complaints(self, spider: type[SitemapAttributes]) -> list[str]:
        """Return a line for each attribute that is probably a misspelt argument of the package."""
        new = [name for name in self.attributes if not hasattr(spider, name)]
        return [
            f"argument {name}: unknown, so it was set as an attribute of the spider; did you mean {meant}?"
            for name in new
            if (meant := probably_meant(name, ARGUMENTS))
        ]


def default_arguments(spider: SitemapAttributes) -> Mapping[str, Any] | None:
    """Return the ``harvest_arguments`` of *spider*; ``None`` if they are no dictionary."""
    given: Any = spider.harvest_arguments
    return given if isinstance(given, Mapping) else None


def _defaults(spider: SitemapAttributes, ours: dict[str, Any]) -> dict[str, Any]:
    """Return the default arguments of the class; targets of the run replace those of the class."""
    if (given := default_arguments(spider)) is None:
        message = f"harvest_arguments must be a dictionary of arguments, not {shortened(spider.harvest_arguments)}"
        raise ArgumentError("harvest_arguments", spider.harvest_arguments, "a dictionary", message=message)
    defaults = dict(given)
    if ours.keys() & set(_TARGETS):
        return {name: value for name, value in defaults.items() if name not in _TARGETS}
    if spider.sitemap_urls and not defaults.keys() & set(_TARGETS):
        urls = spider.sitemap_urls
        defaults["sitemap"] = urls if isinstance(urls, str) else list(urls)
        for url in defaults["sitemap"]:
            if not isinstance(url, str):
                message = f"sitemap_urls: {url!r} is not a text"
                raise ArgumentError("sitemap_urls", url, "a URL", message=message)
    return defaults
