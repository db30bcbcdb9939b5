"""The egg that ``scrapyd-deploy`` makes of this project; all other building is described in ``pyproject.toml``."""

from setuptools import Distribution, find_packages, setup


class Egg(Distribution):
    """What ``pyproject.toml`` says is not for setuptools, which would leave out the entry point that Scrapyd needs."""

    def parse_config_files(self, *args: object, **kwargs: object) -> None:
        """Read none."""


setup(
    name="sitemap_harvest",
    version="0",  # Scrapyd has versions of its own
    packages=find_packages(include=["sitemap_harvest", "sitemap_harvest.*"]),
    entry_points={"scrapy": ["settings = sitemap_harvest.crawl.settings"]},
    distclass=Egg,
)
