"""``sitemap-harvest ACTION``: the command without ``scrapy`` in front."""

from __future__ import annotations

import sys
from signal import SIGINT
from typing import TYPE_CHECKING

from sitemap_harvest.cli.parsers import PROGRAM, pick_action
from sitemap_harvest.cli.start import begin_start

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None, *, program: str = PROGRAM) -> int:
    """Run the command with *arguments*, those of the process by default; return its exit code.

    *program*: its name, as the user typed it. In a Scrapy project, the settings are those of the project.
    """
    action, others = pick_action(program, sys.argv[1:] if arguments is None else arguments)
    begin_start()
    try:
        return _run(program, action, others)
    except KeyboardInterrupt:  # before the action runs, which handles it itself
        sys.stderr.write("Interrupted.\n")
        return 128 + SIGINT


def _run(program: str, action: str, arguments: list[str]) -> int:
    from scrapy.utils.project import get_project_settings  # --help and --version need no Scrapy

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
