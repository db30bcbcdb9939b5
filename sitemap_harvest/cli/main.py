"""``sitemap-harvest ACTION``: the command without ``scrapy`` in front."""

from __future__ import annotations

import sys
from signal import SIGINT
from typing import TYPE_CHECKING

from sitemap_harvest.cli.parsers import PROGRAM, WRONG_USAGE, pick_action
from sitemap_harvest.cli.start import begin_start, prevent_pandas_import
from sitemap_harvest.errors import HarvestError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None, *, program: str = PROGRAM) -> int:
    """Run the command with *arguments*, those of the process by default; return its exit code.

    *program*: its name, as the user typed it. In a Scrapy project, the settings are those of the project.
    """
    try:
        action, others = pick_action(program, sys.argv[1:] if arguments is None else arguments)
        begin_start()
        if arguments is None and action in {"crawl", "validate"} and _runs_only_this_package(others):
            prevent_pandas_import()
        return _run(program, action, others)
    except KeyboardInterrupt:  # before the action runs, which handles it itself
        sys.stderr.write("Interrupted.\n")
        return 128 + SIGINT
    except HarvestError as error:  # the help or the version cannot be written
        sys.stderr.write(f"{program}: {error}\n")
        return WRONG_USAGE


def _runs_only_this_package(arguments: list[str]) -> bool:
    """Whether a command with *arguments* has no settings of the user, which may name pipelines and extensions."""
    from scrapy.utils.project import inside_project  # --help and --version need no Scrapy

    has_settings = any(text.startswith(("-s", "--set")) for text in arguments)
    return not has_settings and not inside_project()


def _run(program: str, action: str, arguments: list[str]) -> int:
    from scrapy.utils.project import get_project_settings

    from sitemap_harvest.cli.harvest import HarvestCommand

    command = HarvestCommand(program)
    command.settings = get_project_settings()
    opts = command.parse(action, arguments)
    if opts.profile:
        from cProfile import Profile

        profile = Profile()
        profile.runcall(command.run, [], opts)
        profile.dump_stats(opts.profile)
    else:
        command.run([], opts)
    return command.exitcode
