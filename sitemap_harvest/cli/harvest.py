"""``scrapy harvest ACTION``: the Scrapy command, which runs the module of the action.

Scrapy imports this module for each of its commands, so it imports other modules only
when it runs; and of the actions, only the module of the one that runs.
"""

from __future__ import annotations

import os
import sys
import textwrap
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from scrapy.cmdline import ScrapyArgumentParser
from scrapy.commands import BaseRunSpiderCommand, ScrapyCommand
from scrapy.exceptions import UsageError

from sitemap_harvest.errors import HarvestError

if TYPE_CHECKING:
    from collections.abc import Callable

_ACTIONS = {
    "crawl": "Harvest the URLs of sites, sitemaps or files.",
    "validate": "Report the problems of sitemaps, and how to fix them.",
    "audit": "Report what is wrong with the sitemaps of a site.",
    "runs": "List the runs in a store; verify, remove or compact them.",
    "diff": "Show what changed on a site between two stored runs, or in each run since a given one.",
    "query": "Query the snapshots of a store with SQL.",
}
"""The actions, each with its help in one line; the module of the same name has the rest."""


class _ActionParser(ScrapyArgumentParser):
    """The parser of one action, which gets its options before they are parsed."""

    action: str
    add_common_options: Callable[[ArgumentParser], None]

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        action = import_module(f"sitemap_harvest.cli.{self.action}")
        self.usage = f"scrapy harvest {self.action} [options] {action.USAGE}"
        self.epilog = "\n".join(
            textwrap.fill(line, 79, subsequent_indent=" " * 21 if line.startswith(" ") else "")
            for line in action.EPILOG.split("\n")
        )
        self.add_common_options(self)
        action.add_options(self)
        return super().parse_known_args(args, namespace)


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

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the actions, each with its options."""
        actions = parser.add_subparsers(dest="action", metavar="ACTION", title="actions", parser_class=_ActionParser)
        for name, help_ in _ACTIONS.items():
            subparser = actions.add_parser(
                name, help=help_, description=help_, formatter_class=RawDescriptionHelpFormatter
            )
            subparser.action = name
            base = BaseRunSpiderCommand if name == "crawl" else ScrapyCommand
            subparser.add_common_options = partial(base.add_options, self)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Check that there is an action, and apply its options to the settings."""
        from sitemap_harvest.addon import Addon

        if opts.action is None:
            raise UsageError("no action given; for example: scrapy harvest crawl TARGET...", print_help=False)
        if args:
            raise UsageError(f"unrecognized arguments: {' '.join(args)}", print_help=False)
        assert self.settings is not None  # noqa: S101 - for mypy: scrapy.cmdline sets it
        Addon().update_settings(self.settings)  # before -O is parsed, so that its formats are known
        if opts.action == "crawl":
            super().process_options(args, opts)
        else:  # without arguments of a spider, and without outputs
            ScrapyCommand.process_options(self, args, opts)

    def run(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002 - process_options parsed args
        """Run the action, which returns a :class:`RunOutcome`."""
        from sitemap_harvest.cli import output
        from sitemap_harvest.engine.exit_codes import RunOutcome
        from sitemap_harvest.escape import escape_log

        escape_log()
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # it is a text file here
        try:
            outcome = import_module(f"sitemap_harvest.cli.{opts.action}").run(opts, self.settings)
        except HarvestError as error:
            output.tell(*f"scrapy harvest {opts.action}: {error}".split("\n"))
            outcome = RunOutcome.WRONG_USAGE
        except BrokenPipeError:  # the reader has closed the pipe
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            outcome = RunOutcome.PARTLY_FAILED
        self.exitcode = outcome.exit_code
