"""``sitemap-harvest completion SHELL``: the script that completes the command in a shell."""

from __future__ import annotations

from argparse import ArgumentParser
from functools import partial
from typing import TYPE_CHECKING, Any

import shtab
from scrapy.settings import Settings

from sitemap_harvest.audit.explanation import all_rules
from sitemap_harvest.cli.closed_pipe import write
from sitemap_harvest.cli.harvest import HarvestCommand
from sitemap_harvest.cli.parsers import ACTIONS, PROGRAM
from sitemap_harvest.config.arguments import EMIT
from sitemap_harvest.engine.exit_codes import RunOutcome
from sitemap_harvest.model import CHANGEFREQS, Severity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from sitemap_harvest.cli.parsers import ActionParser

USAGE = "SHELL"
EPILOG = (
    f"To enable completion in this bash: source <({PROGRAM} completion bash)\nExit codes: 0 success; 2 wrong usage."
)
_SHELLS = ("bash", "zsh", "fish")
_FILES = dict.fromkeys(("FILE", "TARGET", "DATABASE", "PATH"), shtab.FILE) | dict.fromkeys(
    ("FOLDER", "S"), shtab.DIRECTORY
)
_WORDS: dict[str, Iterable[str]] = {
    "SEVERITY": [*Severity, "never"],
    "LEVEL": ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"],
    "KINDS": [*EMIT, "none"],
    "VALUES": CHANGEFREQS,
    "RULE": all_rules(),
    "RULES": all_rules(),
}
"""The possible values of options, by what the help calls them."""


def add_options(parser: ArgumentParser) -> None:
    """Add the options of this action."""
    parser.add_argument("shell", choices=_SHELLS, metavar="SHELL", help="bash, zsh or fish")


def run(opts: argparse.Namespace, settings: Settings) -> RunOutcome:  # noqa: ARG001 - as of each action
    """Print the script."""
    write(shtab.complete(_parser(), opts.shell) + "\n")
    return RunOutcome.WHOLE


def _parser() -> ArgumentParser:
    """Return a parser of the whole command, with the values of each option."""
    command = HarvestCommand(PROGRAM)
    command.settings = Settings()
    parser = ArgumentParser(PROGRAM)
    parser.add_argument("--version", action="version", help="show the versions, and exit")
    make_parser: Any = partial(_parser_of, command)
    actions = parser.add_subparsers(parser_class=make_parser)
    for name, text in ACTIONS.items():
        actions.add_parser(name, help=text, description=name)
    return parser


def _parser_of(command: HarvestCommand, *, description: str, **_: Any) -> ActionParser:
    """Return the parser of the action *description*, as argparse asks for it."""
    parser = command.parser_of(description)
    for option in parser.options:
        _add_values(option)
    return parser


def _add_values(option: argparse.Action) -> None:
    name = str(option.metavar).strip("[]")
    if name in _FILES:
        option.complete = _FILES[name]  # type: ignore[attr-defined]  # which shtab looks for
    elif "|" in name:
        option.choices = name.split("|")
    elif name in _WORDS:
        option.choices = list(_WORDS[name])
