"""The parsers of ``sitemap-harvest`` and ``scrapy harvest``: the actions, and the options of each.

Imports Scrapy and the module of an action only to parse the options of that action.
"""

from __future__ import annotations

import os
import platform
import re
import shlex
import sys
import textwrap
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, NoReturn

from sitemap_harvest import __version__
from sitemap_harvest.cli.closed_pipe import write
from sitemap_harvest.errors import probably_meant, there_is_no
from sitemap_harvest.escape import visible
from sitemap_harvest.redact import without_login

if TYPE_CHECKING:
    from argparse import Action, Namespace
    from collections.abc import Callable, Iterator, Sequence

PROGRAM = "sitemap-harvest"
ACTIONS = {
    "crawl": "Harvest the URLs of sites, sitemaps or files.",
    "validate": "Report problems in how sitemaps are written; to check their contents, use audit.",
    "audit": "Report what is wrong with the sitemaps of a site.",
    "runs": "List the runs in a store; verify, remove or compact them.",
    "diff": "Show what changed on a site between two stored runs, or in each run since a given one.",
    "query": "Query the snapshots of a store with SQL.",
    "export": "Write the snapshots of a store to the tables of a database, then only what is new.",
    "jobs": "Crawl many sites as jobs, once or regularly, by workers on any number of machines.",
    "completion": "Print the script that completes this command in bash, zsh or fish.",
}
"""The actions, each with its help in one line; the module of the same name has the rest."""
_WIDTH = 79
WRONG_USAGE = 2  # exit code
_FEWEST_LETTERS = len("--abc")  # of the beginning of an option that shows which one was meant
_VALUES = frozenset({"yes", "no", "true", "false"})  # of a switch, right and wrong ones; others are targets
_TARGET = re.compile(r"[/.:*]")  # a URL, a host or a path has one of these characters


def pick_action(program: str, arguments: Sequence[str]) -> tuple[str, list[str]]:
    """Return the action in *arguments*, and its arguments; exit if they do not begin with an action.

    *program*: the name of the command, as the user typed it.
    """
    first, *others = arguments or ["--help"]
    if first in {"-h", "--help"}:
        write(help_text(program), sys.stdout if arguments else sys.stderr)
        sys.exit(0 if arguments else WRONG_USAGE)
    if first in {"-V", "--version"}:
        write(f"{PROGRAM} {__version__}\nScrapy {version('scrapy')}\nPython {platform.python_version()}\n")
        sys.exit(0)
    if first not in ACTIONS:
        _fail(program, _no_action(program, arguments))
    return first, others


def help_text(program: str) -> str:
    """Return the help of the command *program*: its actions."""
    actions = "\n".join(
        textwrap.fill(text, _WIDTH, initial_indent=f"  {name:<12}", subsequent_indent=" " * 14)
        for name, text in ACTIONS.items()
    )
    return (
        f"usage: {program} ACTION [options] TARGET...\n\n"
        "Collect, check and compare the URLs that sites publish about themselves: in\n"
        "sitemaps, indexes, feeds and robots.txt.\n\n"
        f"actions:\n{actions}\n\n"
        "options:\n  -h, --help     show this help message and exit\n"
        "  -V, --version  show the versions of this package, Scrapy and Python, and exit\n\n"
        f"examples:\n  {program} crawl https://www.example.com -O urls.jsonl\n"
        f"  {program} validate sitemap.xml\n"
        f"  {program} audit https://www.example.com --report audit.html\n\n"
        f"For the options of an action: {program} ACTION --help\n"
    )


def _no_action(program: str, arguments: Sequence[str]) -> str:
    """Return the message for *arguments* that do not begin with an action, with what was probably meant."""
    first = arguments[0]
    named = next((one for one in arguments if one in ACTIONS), None)
    if first.startswith("-") and named:
        others = [one for one in arguments if one != named]
        return f"{first}: the action comes first; did you mean: {program} {_shown(named, *others)}"
    if any(map(_is_target, arguments if first.startswith("-") else [first])):
        return f"{without_login(first)}: no action is given; did you mean: {program} {_shown('crawl', *arguments)}"
    if first.startswith("-"):
        return f"{first}: no action is given (for help: {program} --help)"
    return f"{first}: {there_is_no('action', first, ACTIONS)}"


def _is_target(text: str) -> bool:
    return bool(_TARGET.search(text)) or os.path.exists(text)  # noqa: PTH110 - Path raises on a long text


def _is_store(text: str) -> bool:
    if not text.startswith("s3://") and not os.path.isdir(text):  # noqa: PTH112 - Path raises on a long text
        return False
    from sitemap_harvest.snapshots.store.store import is_store  # loads slowly

    return is_store(text)


def _shown(*words: str) -> str:
    """Return *words* as a command line, without passwords."""
    return shlex.join(map(without_login, words))


def _fail(program: str, message: str) -> NoReturn:
    from sitemap_harvest.cli.tables import NARROWEST, fitted  # most runs need neither

    width = max(get_terminal_size().columns, NARROWEST) if sys.stderr.isatty() else None
    lines = fitted(visible(f"{program}: {message}"), width, cuts=False)
    write("\n".join([*lines, ""]), sys.stderr)
    sys.exit(WRONG_USAGE)


class ActionParser(ArgumentParser):
    """The parser of one action."""

    switches: set[str]
    """Options whose value is yes or no; without a value, they mean yes."""

    def __init__(self, program: str, action: str, add_common_options: Callable[[ArgumentParser], None]) -> None:
        """*program*: the name of the command. *add_common_options* adds those of Scrapy."""
        module = import_module(f"sitemap_harvest.cli.{action}")
        super().__init__(
            prog=f"{program} {action}",
            usage=textwrap.fill(
                f"{program} {action} [options] {module.USAGE}", _WIDTH - len("usage: "), subsequent_indent=" " * 9
            ),
            description=textwrap.fill(ACTIONS[action], _WIDTH),
            formatter_class=RawDescriptionHelpFormatter,
            allow_abbrev=False,  # --stor would be --store, until there is a second option that begins so
            epilog="\n".join(
                textwrap.fill(line, _WIDTH, subsequent_indent=" " * 21 if line.startswith(" ") else "")
                for line in module.EPILOG.split("\n")
            ),
        )
        self.switches = set()
        module.add_options(self)
        add_common_options(self)
        for option in self._actions:
            if option.dest == "loglevel":  # Scrapy's help names its own default
                option.help = "log level: CRITICAL, ERROR, WARNING, INFO or DEBUG"
        self.set_defaults(action=action, command=self.prog)

    @property
    def options(self) -> Sequence[Action]:
        """The options and positional arguments."""
        return self._actions

    def parse(self, arguments: Sequence[str]) -> Namespace:
        """Return the parsed *arguments*; exit if one is invalid or unknown."""
        opts, unknown = self.parse_known_intermixed_args(list(self._with_yes(arguments)))
        if unknown and (named := next((one for one in unknown if one.startswith("-")), None)):
            self.error(self._unknown(named))
        self._check_store(arguments, opts, unknown)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._hint}")
        return opts

    def _check_store(self, arguments: Sequence[str], opts: Namespace, unknown: Sequence[str]) -> None:
        """Exit if the store is given in the place of another argument, and not with ``--store``."""
        option = self._option_string_actions.get("--store")
        if option is None or getattr(opts, option.dest) is not None:
            return
        places = self._get_positional_actions()
        values = [getattr(opts, place.dest) or [] for place in places]
        given = [*unknown, *(one for value in values for one in ([value] if isinstance(value, str) else value))]
        if (store := next(filter(_is_store, given), None)) is not None:
            others = [word for one in arguments for word in (["--store", one] if one == store else [one])]
            missing = [str(place.metavar) for place in places[len(given) - 1 :] if place.nargs is None]
            self.error(f"{store} is a store; did you mean: {_shown(*self.prog.split(), *others, *missing)}")

    @property
    def _hint(self) -> str:
        is_query = any(place.dest == "sql" for place in self._get_positional_actions())
        return "; put the query in quotes, so that it is one argument" if is_query else ""

    def _with_yes(self, arguments: Sequence[str]) -> Iterator[str]:
        """Yield *arguments*, with the value yes for each switch that is not followed by a value."""
        is_option = True
        for given, following in pairwise([*arguments, ""]):
            is_option &= given != "--"
            is_bare = is_option and given in self.switches and following.lower() not in _VALUES
            yield f"{given}=yes" if is_bare else given

    def _print_message(self, message: str, file: Any = None) -> None:
        write(message, file or sys.stderr)

    def error(self, message: str) -> NoReturn:
        """Exit with *message*."""
        _fail(self.prog, f"{without_login(message)} (for help: {self.prog} --help)")

    def _unknown(self, given: str) -> str:
        name = given.partition("=")[0]
        options = [one for one in self._option_string_actions if one.startswith("--")]
        full = f"--{name.lstrip('-')}"
        meant = [one for one in options if one.startswith(full)] if len(full) >= _FEWEST_LETTERS else []
        meant = meant or list(filter(None, [probably_meant(full, options)]))
        return f"unknown option {name}" + (f"; did you mean {' or '.join(meant)}?" if meant else "")

    def _parse_optional(self, arg_string: str) -> Any:
        if arg_string.startswith("-:"):  # as in Scrapy: -o -:json writes JSON to standard output
            return None
        return super()._parse_optional(arg_string)
