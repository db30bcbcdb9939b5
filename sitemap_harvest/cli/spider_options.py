"""Options for the arguments of the spiders: ``--min-priority 0.5`` is ``-a min_priority=0.5``."""

from __future__ import annotations

import re
from argparse import SUPPRESS
from typing import TYPE_CHECKING

from scrapy.utils.conf import arglist_to_dict

from sitemap_harvest.config.arguments import ARGUMENT_GROUPS, ARGUMENTS, YES_OR_NO
from sitemap_harvest.errors import ArgumentError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Collection

    from sitemap_harvest.cli.parsers import ActionParser

_DEST = "argument_{}"  # the action may have an option of this name
_OF_TARGETS = ("site", "sites", "sitemap")
NOTE = (
    "Each option from --site on is also an argument, with underscores: --limit 100 is -a limit=100, and --max-age is "
    "max_age. Values of an option that takes several are separated by spaces in quotes "
    "(--site 'a.example b.example'), or given by repeating the option."
)
"""The part of the help that explains these options."""


def add_arguments(parser: ActionParser, *, but: Collection[str] = (), hidden: Collection[str] = ()) -> None:
    """Add an option for each argument, except those that the action has its own option for.

    The help has no *hidden* options: the action refuses them with a reason.
    """
    for title, arguments in ARGUMENT_GROUPS.items():
        group = parser.add_argument_group(title)
        for name in [one for one in arguments if one not in but]:
            argument, option = arguments[name], option_of(name)
            if is_switch := argument.value == YES_OR_NO:
                parser.switches.add(option)
            default = f" (default: {argument.default})" if argument.default and not is_switch else ""
            text = f"{argument.help.removeprefix('yes: ')}{default}"
            group.add_argument(
                option,
                dest=_DEST.format(name),
                action="append",
                metavar=f"[{YES_OR_NO}]" if is_switch else argument.value,
                help=SUPPRESS if name in hidden else text,
            )


def option_of(name: str) -> str:
    """Return the option for the argument *name*."""
    return f"--{name.replace('_', '-')}"


def arguments_in(opts: Namespace) -> dict[str, str]:
    """Return the arguments that ``-a`` and the options give. Raises :exc:`ArgumentError` if they contradict each other.

    If an option is repeated, the last value counts, or all of them for an argument that takes several.
    """
    try:
        given = dict(opts.spargs) if isinstance(opts.spargs, dict) else arglist_to_dict(opts.spargs)
    except ValueError as error:
        raise ArgumentError("-a", opts.spargs, "NAME=VALUE", message="Invalid -a value, use -a NAME=VALUE") from error
    for name, argument in ARGUMENTS.items():
        if values := getattr(opts, _DEST.format(name), None):
            check_same(name, value := " ".join(values) if argument.is_list else values[-1], given)
            given[name] = value
    return given


def as_typed(text: str, opts: Namespace) -> str:
    """Return *text*, a message of the spider, with the arguments in it as options, and targets as TARGET."""
    names = [name for name in ARGUMENTS if hasattr(opts, _DEST.format(name))]
    if not names:
        return text
    for name in _OF_TARGETS:
        if getattr(opts, "targets", ()) and name not in opts.spargs:
            text = re.sub(rf"\Aargument {name}=", "TARGET ", text)
    return re.sub(
        rf"(?:(?<=[\s(])|\A)(?:(?:-a |(?:the )?argument )({'|'.join(names)})\b(=?)|({'|'.join(names)})(=))(?=(\S?))",
        lambda found: (
            option_of(found[1] or found[3]) + (" " if (found[2] or found[4]) and found[5].strip(",;)") else "")
        ),
        text,
    )


def check_same(name: str, value: str, given: dict[str, str]) -> None:
    """Raise :exc:`ArgumentError` if *value*, that of the option for *name*, is another than that in *given*."""
    if given.get(name, value) != value:
        message = f"{option_of(name)} {value} and -a {name}={given[name]} contradict each other; give one of them"
        raise ArgumentError(name, value, "given once", message=message)
