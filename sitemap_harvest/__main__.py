"""``python -m sitemap_harvest``: the command ``sitemap-harvest``."""

import sys

from sitemap_harvest.cli.main import main

if __name__ == "__main__":
    sys.exit(main(program="python -m sitemap_harvest"))
