"""The arguments of a spider that is derived from ours: which are ours, and what they mean beside its attributes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sitemap_harvest.crawl.arguments import Arguments, Plan
from sitemap_harvest.crawl.selection import visits_pages
from sitemap_harvest.crawl.spiders.base import OWN_NAME
from sitemap_harvest.errors import ArgumentError, probably_meant

if TYPE_CHECKING:
    from sitemap_harvest.crawl.spiders.base import SitemapAttributes

_TARGETS = ("site", "sites", "sitemap")
_SCRAPYD = ("_job", "_version")  # what Scrapyd itself gives each job: its id, and the version that was asked for


@dataclass(frozen=True, slots=True)
class Given:
    """What a run was given by ``-a``."""

    ours: dict[str, Any]
    """Arguments of the package."""
    attributes: dict[str, Any]
    """All others: attributes of the spider."""
    unusable: dict[str, Any]
    """Those that it cannot be given."""

    @property
    def all(self) -> dict[str, Any]:
        """All of them."""
        return {**self.ours, **self.attributes, **self.unusable}

    @classmethod
    def of(cls, arguments: dict[str, Any], spider: type[SitemapAttributes]) -> Given:
        """Sort *arguments* for a *spider* class. Those that the class itself declares are none of ours."""
        ours = {name: arguments[name] for name in arguments.keys() & (set(Arguments.names()) - _declared(spider))}
        others = {name: value for name, value in arguments.items() if name not in ours}
        taken = others.keys() if spider.refuses_unknown_arguments else others.keys() & {OWN_NAME}
        taken -= {*_SCRAPYD}
        unusable = {name: others.pop(name) for name in list(others) if name in taken}
        return cls(ours, others, unusable)

    def plan_for(self, spider: SitemapAttributes) -> Plan:
        """Return what *spider* is to do. Raises :exc:`ArgumentError` where an argument or an attribute is wrong.

        Where the arguments name nothing to harvest, the spider may yet do so as the run begins (:meth:`leads_for`).
        """
        if self.unusable and not spider.refuses_unknown_arguments:
            name, value = next(iter(self.unusable.items()))
            message = f"argument {name}: the spider itself uses this name; give it another one"
            raise ArgumentError(name, value, "another name", message=message)
        arguments: dict[str, Any] = {"emit": "none"} if visits_pages(spider) else {}
        arguments |= {**_defaults(spider, self._given_to(spider)), **self._given_to(spider), **self.unusable}
        Arguments.check_names(arguments)
        return Plan.of(Arguments(**arguments), needs_target=spider.refuses_unknown_arguments)

    def check_targets(self, plan: Plan, spider: SitemapAttributes) -> None:
        """Raise :exc:`ArgumentError` if neither the arguments nor *spider* name anything to harvest."""
        if not plan.leads:
            message = (
                f"nothing to harvest: {type(spider).__name__} has no sitemap_urls, "
                "and none of the arguments site, sites and sitemap is given"
            )
            raise ArgumentError("site", None, "a site", message=message)

    def _given_to(self, spider: SitemapAttributes) -> dict[str, Any]:
        """Return the arguments of the package; without targets, if *spider* has chosen its ``sitemap_urls`` itself."""
        if "sitemap_urls" not in vars(spider):
            return self.ours
        return {name: value for name, value in self.ours.items() if name not in _TARGETS}

    def complaints(self, spider: type[SitemapAttributes]) -> list[str]:
        """Return a line for each attribute that is probably an argument of ours, misspelt."""
        new = [name for name in self.attributes if not hasattr(spider, name)]
        return [
            f"argument {name}: it became an attribute of the spider; if {meant} was meant, spell it so"
            for name in new
            if (meant := probably_meant(name, Arguments.names()))
        ]


def check_class(spider: type, *, base: type) -> None:
    """Raise :exc:`TypeError` if the class *spider*, or one between it and *base*, defines the name of the run."""
    between = spider.__mro__[: spider.__mro__.index(base)]
    if any(OWN_NAME in vars(cls) for cls in between):
        raise TypeError(
            f"{spider.__name__} defines {OWN_NAME}, which {base.__name__} uses itself: give it another name"
        )


def _declared(spider: type) -> set[str]:
    """Return the names that the class *spider* declares: its attributes, and the parameters of its ``__init__``."""
    names: set[str] = set()
    for cls in spider.__mro__:
        if not cls.__module__.startswith(("sitemap_harvest.", "scrapy.", "builtins")):
            names |= vars(cls).keys()
            if "__init__" in vars(cls):
                names |= inspect.signature(vars(cls)["__init__"]).parameters.keys()
    return names


def _defaults(spider: SitemapAttributes, ours: dict[str, Any]) -> dict[str, Any]:
    """Return what the class says where the run does not: targets of the run stand in place of those of the class."""
    defaults = dict(spider.harvest_arguments)
    if ours.keys() & set(_TARGETS):
        return {name: value for name, value in defaults.items() if name not in _TARGETS}
    if spider.sitemap_urls and not defaults.keys() & set(_TARGETS):
        urls = spider.sitemap_urls
        defaults["sitemap"] = urls if isinstance(urls, str) else list(urls)
    return defaults
