"""``scrapy harvest ACTION``: finds the action and hands over.

Scrapy imports this module for each of its commands, so it loads what it needs
only when it is the one that is run.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from scrapy.commands import BaseRunSpiderCommand, ScrapyCommand
from scrapy.exceptions import UsageError

from sitemap_harvest.errors import HarvestError

if TYPE_CHECKING:
    import argparse


class HarvestCommand(BaseRunSpiderCommand):
    """The Scrapy command; an action each has a module beside this one."""

    requires_project = False
    requires_crawler_process = False  # an action that crawls makes its own

    def syntax(self) -> str:
        """Return what follows ``scrapy harvest``."""
        return "ACTION [options] TARGET..."

    def short_desc(self) -> str:
        """Return the line that ``scrapy`` shows."""
        return "Read the sitemaps of sites into files, validate them, ask kept snapshots (sitemap_harvest)"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the actions, each with its options."""
        from sitemap_harvest.commands import crawl

        actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions")
        for name, action in _actions().items():
            acting = actions.add_parser(
                name,
                usage=f"scrapy harvest {name} [options] {action.ARGUMENTS}",
                help=action.HELP,
                description=action.HELP,
                epilog=action.EPILOG,
            )
            if action is crawl:
                super().add_options(acting)
            else:
                ScrapyCommand.add_options(self, acting)
            action.add_options(acting)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check that there is an action, and put its options into the settings."""
        from sitemap_harvest.crawl import Addon

        if opts.action is None:
            raise UsageError("an action is needed: scrapy harvest crawl TARGET...", print_help=False)
        if args:
            raise UsageError(f"unknown: {' '.join(args)}", print_help=False)
        assert self.settings is not None  # noqa: S101 - scrapy.cmdline sets it; this tells mypy
        Addon().update_settings(self.settings)  # before -O is read, so that its formats are known
        if opts.action == "crawl":
            super().process_options(args, opts)
        else:  # without a spider's arguments and outputs
            ScrapyCommand.process_options(self, args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 - process_options saw to args
        """Do the action."""
        from sitemap_harvest.commands import closing, output
        from sitemap_harvest.escape import escape_log

        assert self.settings is not None  # noqa: S101 - scrapy.cmdline sets it; this tells mypy
        escape_log()
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # it is a text file here
        try:
            self.exitcode = _actions()[opts.action].run(opts, self.settings)
        except HarvestError as error:
            output.tell(*f"scrapy harvest {opts.action}: {error}".split("\n"))
            self.exitcode = closing.WRONG_USAGE
        except BrokenPipeError:  # who reads has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            self.exitcode = closing.PARTLY_FAILED


def _actions() -> dict[str, Any]:
    """Return the modules of the actions, by name."""
    from sitemap_harvest.commands import crawl, diff, query, runs, validate

    return {"crawl": crawl, "validate": validate, "runs": runs, "diff": diff, "query": query}
