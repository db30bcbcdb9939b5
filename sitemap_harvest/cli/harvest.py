"""``scrapy harvest ACTION``: the Scrapy command, which runs the module of the action.

Scrapy imports this module for each of its commands, so it imports other modules only
when it runs.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from typing import Any

from scrapy.commands import BaseRunSpiderCommand, ScrapyCommand
from scrapy.exceptions import UsageError

from sitemap_harvest.errors import HarvestError


class HarvestCommand(BaseRunSpiderCommand):
    """The Scrapy command; each action has its own module in this package."""

    requires_project = False
    requires_crawler_process = False  # actions that crawl create their own

    def syntax(self) -> str:
        """Return the arguments after ``scrapy harvest``."""
        return "ACTION [options] TARGET..."

    def short_desc(self) -> str:
        """Return the description that ``scrapy`` shows."""
        return "Harvest sitemaps into files, validate them, and query stored snapshots (sitemap_harvest)"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Add the actions, each with its options."""
        actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions")
        for name, action in _actions().items():
            subparser = actions.add_parser(
                name,
                usage=f"scrapy harvest {name} [options] {action.USAGE}",
                help=action.HELP,
                description=action.HELP,
                epilog="\n".join(map(_wrapped, action.EPILOG.split("\n"))),
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            if name == "crawl":
                super().add_options(subparser)
            else:
                ScrapyCommand.add_options(self, subparser)
            action.add_options(subparser)

    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        """Check that there is an action, and apply its options to the settings."""
        from sitemap_harvest.addon import Addon

        if opts.action is None:
            raise UsageError("an action is needed: scrapy harvest crawl TARGET...", print_help=False)
        if args:
            raise UsageError(f"unknown: {' '.join(args)}", print_help=False)
        assert self.settings is not None  # noqa: S101 - for mypy: scrapy.cmdline sets it
        Addon().update_settings(self.settings)  # before -O is parsed, so that its formats are known
        if opts.action == "crawl":
            super().process_options(args, opts)
        else:  # without arguments of a spider, and without outputs
            ScrapyCommand.process_options(self, args, opts)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002 - process_options parsed args
        """Run the action, which returns a :class:`RunOutcome`."""
        from sitemap_harvest.cli import output
        from sitemap_harvest.engine.exit_codes import RunOutcome
        from sitemap_harvest.escape import escape_log

        escape_log()
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # it is a text file here
        try:
            outcome = _actions()[opts.action].run(opts, self.settings)
        except HarvestError as error:
            output.tell(*f"scrapy harvest {opts.action}: {error}".split("\n"))
            outcome = RunOutcome.WRONG_USAGE
        except BrokenPipeError:  # the reader has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            outcome = RunOutcome.PARTLY_FAILED
        self.exitcode = outcome.exit_code


def _actions() -> dict[str, Any]:
    """Return the modules of the actions, by name."""
    from sitemap_harvest.cli import crawl, diff, query, runs, validate

    return {"crawl": crawl, "validate": validate, "runs": runs, "diff": diff, "query": query}


def _wrapped(line: str) -> str:
    return textwrap.fill(line, 79, subsequent_indent=" " * 21 if line.startswith(" ") else "")
