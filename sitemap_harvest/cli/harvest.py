"""``scrapy harvest ACTION``: the Scrapy command, which runs the module of the action.

Scrapy imports this module for each of its commands, so it imports other modules only
when it runs; and of the actions, only the module of the one that runs.
"""

from __future__ import annotations

import sys
from argparse import REMAINDER, ArgumentParser, Namespace
from functools import partial
from importlib import import_module
from typing import Any

from scrapy.commands import BaseRunSpiderCommand, ScrapyCommand
from scrapy.exceptions import UsageError

from sitemap_harvest.cli.closed_pipe import discard, flush
from sitemap_harvest.cli.parsers import ActionParser, help_text, pick_action
from sitemap_harvest.cli.start import begin_start, end_start
from sitemap_harvest.errors import HarvestError


class HarvestCommand(BaseRunSpiderCommand):
    """The Scrapy command; each action has its own module in this package."""

    requires_project = False
    requires_crawler_process = False  # actions that crawl create their own

    def __init__(self, program: str = "scrapy harvest") -> None:
        """*program*: the name of the command, as the user typed it."""
        super().__init__()
        self.program = program

    def syntax(self) -> str:
        """Return the arguments after ``scrapy harvest``."""
        return "ACTION [options] TARGET..."

    def short_desc(self) -> str:
        """Return the description that ``scrapy`` shows."""
        return "Harvest sitemaps into files, validate them, and query stored snapshots (sitemap_harvest)"

    def add_options(self, parser: ArgumentParser) -> None:
        """Leave all arguments to the parser of the action."""
        parser.format_help = partial(help_text, self.program)  # type: ignore[method-assign]
        parser.add_argument("arguments", nargs=REMAINDER)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Parse the arguments of the action. Scrapy's parser leaves options before the action in *args*."""
        begin_start()
        vars(opts).update(vars(self.parse(*pick_action(self.program, [*args, *opts.arguments]))))

    def parse(self, action: str, arguments: list[str]) -> Namespace:
        """Return the parsed *arguments* of *action*, and apply them to the settings; exit if one is invalid."""
        parser = self.parser_of(action)
        opts = parser.parse(arguments)
        try:
            self._apply(opts)
        except (UsageError, HarvestError) as error:
            parser.error(str(error))
        return opts

    def parser_of(self, action: str) -> ActionParser:
        """Return the parser of *action*, with the options of Scrapy."""
        return ActionParser(self.program, action, partial(_base(action).add_options, self))

    def _apply(self, opts: Namespace) -> None:
        from sitemap_harvest.addon import Addon

        assert self.settings is not None  # noqa: S101 - for mypy: the caller sets it
        Addon().update_settings(self.settings)  # before -O is parsed, so that its formats are known
        if opts.action == "crawl":
            import_module("sitemap_harvest.cli.crawl").check_outputs(opts, self.settings)
        _base(opts.action).process_options(self, [], opts)
        if "spargs" in opts:
            from sitemap_harvest.cli.spider_options import arguments_in

            opts.spargs = arguments_in(opts)

    def run(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002 - Scrapy's interface
        """Run the action, which returns a :class:`RunOutcome`."""
        from sitemap_harvest.cli import output
        from sitemap_harvest.engine.exit_codes import RunOutcome
        from sitemap_harvest.escape import escape_log

        end_start()
        escape_log()
        if opts.set:
            from sitemap_harvest.cli.harvest_process import typos

            for warning in typos(one.partition("=")[0] for one in opts.set):
                output.tell(warning)
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # it is a text file here
        try:
            outcome = import_module(f"sitemap_harvest.cli.{opts.action}").run(opts, self.settings)
            flush()
        except HarvestError as error:
            output.tell(*f"{opts.command}: {_as_typed(error, opts)}".split("\n"))
            outcome = RunOutcome.WRONG_USAGE
        except KeyboardInterrupt:  # before a crawl begins, which handles it itself
            output.tell("Interrupted.")
            outcome = RunOutcome.INTERRUPTED
        except BrokenPipeError:  # the reader of the rows has closed the pipe: it has what it wants
            discard(sys.stdout)
            outcome = RunOutcome.WHOLE
        self.exitcode = outcome.exit_code


def _as_typed(error: Exception, opts: Namespace) -> str:
    """Return the message of *error*, in which arguments of the spider are options, if the action has these."""
    if "spargs" not in opts:
        return str(error)
    from sitemap_harvest.cli.spider_options import as_typed

    return as_typed(str(error), opts)


def _base(action: str) -> Any:
    """Return the command of Scrapy whose options *action* has."""
    return BaseRunSpiderCommand if action == "crawl" else ScrapyCommand
