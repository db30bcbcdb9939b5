from __future__ import annotations

import re
import sys

import pytest
from scrapy.settings import Settings

from sitemap_harvest import __version__, open_store
from sitemap_harvest.cli.harvest import HarvestCommand
from sitemap_harvest.cli.parsers import ACTIONS, ActionParser, pick_action
from sitemap_harvest.cli.spider_options import as_typed, option_of
from sitemap_harvest.config.arguments import ARGUMENT_GROUPS, ARGUMENTS, URL_FILTERS

pytestmark = pytest.mark.quick
PROGRAM = "sitemap-harvest"
TAKE_ARGUMENTS = ("crawl", "audit")


def parse(action, *arguments):
    """Return the options that the command has parsed."""
    command = HarvestCommand(PROGRAM)
    command.settings = Settings()
    return command.parse(action, list(arguments))


def call(*arguments):
    """Parse *arguments*, those of the process."""
    action, others = pick_action(PROGRAM, arguments)
    parse(action, *others)


def refused(capsys, *arguments):
    """Return the one line in which the command refuses *arguments*, without its name and the hint at the help."""
    with pytest.raises(SystemExit) as ended:
        call(*arguments)
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
    return re.sub(r"\Asitemap-harvest(?: \w+)?: | \(for help: sitemap-harvest \w+ --help\)|\n", "", err)


@pytest.fixture
def help_of(capsys, monkeypatch):
    """Return a function that returns the help of an action on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def text(*arguments):
        with pytest.raises(SystemExit) as ended:
            call(*arguments, "--help")
        assert ended.value.code == 0
        return capsys.readouterr().out

    return text


def test_the_help_of_the_command_lists_each_action(help_of):
    text = help_of()
    assert re.findall(r"^  (\w+) +[A-Z]", text, re.MULTILINE) == list(ACTIONS)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("action", ACTIONS)
def test_the_help_of_an_action_fits_80_columns(help_of, action):
    text = help_of(action)
    assert text.startswith(f"usage: {PROGRAM} {action} [options] ")
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("action", TAKE_ARGUMENTS)
def test_the_help_explains_each_argument_once(help_of, action):
    text = help_of(action)
    options = re.findall(r"^  (?:-\w \S+, )?(--[\w\-]+)", text, re.MULTILINE)
    absent = [*URL_FILTERS, "emit"] if action == "audit" else []  # which it refuses
    assert [name for name in ARGUMENTS if options.count(option_of(name)) != 1] == absent
    flat = " ".join(text.split())
    if action == "crawl":  # the audit has options of its own for some arguments
        assert [a.help for a in ARGUMENTS.values() if a.help.removeprefix("yes: ") not in flat] == []
        titles = [line[:-1] for line in text.splitlines() if re.fullmatch(r"[A-Z][\w ]+:", line)]
        assert titles == [*ARGUMENT_GROUPS, "Global Options", "Exit codes"]


def test_without_arguments_the_help_is_shown_with_exit_code_2(capsys):
    with pytest.raises(SystemExit) as ended:
        pick_action(PROGRAM, [])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (2, "")
    assert err.startswith("usage: sitemap-harvest ACTION [options] TARGET...\n")


@pytest.mark.parametrize(
    ("is_terminal", "text"),
    [
        pytest.param(
            True,
            "sitemap-harvest: https://a.example/: no action is given;\n  did you mean:\n  "
            "sitemap-harvest crawl https://a.example/ -O urls.jsonl --since 7d\n",
            id="terminal",
        ),
        pytest.param(
            False,
            "sitemap-harvest: https://a.example/: no action is given; did you mean: "
            "sitemap-harvest crawl https://a.example/ -O urls.jsonl --since 7d\n",
            id="pipe",
        ),
    ],
)
def test_an_error_fits_the_terminal(is_terminal, text, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        pick_action(PROGRAM, ["https://a.example/", "-O", "urls.jsonl", "--since", "7d"])
    assert capsys.readouterr().err == text


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_versions_are_those_of_the_package_scrapy_and_python(option, capsys):
    with pytest.raises(SystemExit) as ended:
        pick_action(PROGRAM, [option])
    assert ended.value.code == 0
    assert re.fullmatch(
        rf"sitemap-harvest {re.escape(__version__)}\nScrapy \d[\d.]+\nPython 3\.[\d.]+\w*\n", capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["crwal", "a.example"],
            f"crwal: unknown action; did you mean crawl? Valid actions: {', '.join(ACTIONS)}",
            id="misspelt-action",
        ),
        pytest.param(["frob"], f"frob: unknown action; valid actions: {', '.join(ACTIONS)}", id="unknown-action"),
        pytest.param(
            ["https://a.example/?a=1", "-O", "u.csv"],
            "https://a.example/?a=1: no action is given; did you mean: "
            "sitemap-harvest crawl 'https://a.example/?a=1' -O u.csv",
            id="target",
        ),
        pytest.param(
            ["https://me:secret@a.example"],
            "https://***@a.example: no action is given; did you mean: "
            "sitemap-harvest crawl 'https://***@a.example'",
            id="password",
        ),
        pytest.param(
            ["-O", "u.csv", "a.example"],
            "-O: no action is given; did you mean: sitemap-harvest crawl -O u.csv a.example",
            id="option",
        ),
        pytest.param(
            ["-O", "u.csv", "crawl", "a.example"],
            "-O: the action comes first; did you mean: sitemap-harvest crawl -O u.csv a.example",
            id="option-first",
        ),
        pytest.param(["crawl", "--sicne", "7d"], "unknown option --sicne; did you mean --since?", id="misspelt"),
        pytest.param(
            ["audit", "--min_priority=1"], "unknown option --min_priority; did you mean --min-priority?", id="_"
        ),
        pytest.param(["crawl", "-root", "x"], "unknown option -root; did you mean --root?", id="one-hyphen"),
        pytest.param(["x" * 5000], f"{'x' * 5000}: unknown action; valid actions: {', '.join(ACTIONS)}", id="long"),
        pytest.param(["-v"], "-v: no action is given (for help: sitemap-harvest --help)", id="only-an-option"),
        pytest.param(["runs", "--frob"], "unknown option --frob", id="unknown-option"),
        pytest.param(["runs", "-x"], "unknown option -x", id="unknown-letter"),
        pytest.param(["query", "--stor", "s"], "unknown option --stor; did you mean --store?", id="abbreviated"),
        pytest.param(["crawl", "--forc=no"], "unknown option --forc; did you mean --force?", id="abbreviated-switch"),
        pytest.param(
            ["crawl", "--max"],
            "unknown option --max; did you mean --max-priority or --max-age?",
            id="beginning-of-two-options",
        ),
        pytest.param(["runs", "a.example", "b.example"], "unrecognized arguments: b.example", id="one-too-many"),
        pytest.param(
            ["query", "--store", "s", "select", "1"],
            "unrecognized arguments: 1; put the query in quotes, so that it is one argument",
            id="query-without-quotes",
        ),
        pytest.param(["crawl", "--since"], "argument --since: expected one argument", id="no-value"),
        pytest.param(["crawl", "-a", "since"], "Invalid -a value, use -a NAME=VALUE", id="argument"),
        pytest.param(["audit", "-a", "since"], "Invalid -a value, use -a NAME=VALUE", id="argument-of-audit"),
        pytest.param(
            ["crawl", "-a", "since=8d", "--since", "7d"],
            "--since 7d and -a since=8d contradict each other; give one of them",
            id="contradiction",
        ),
        *(
            pytest.param(
                [*arguments, "-o", "a.parquet", "-O", "b.csv"],
                "-O b.csv: a.parquet is the output already; give one output, with -o or -O",
                id=f"two-outputs-of-{arguments[0]}",
            )
            for arguments in (["query", "select 1"], ["diff", "a.example"], ["audit", "a.example"])
        ),
        pytest.param(["query"], "the following arguments are required: SQL", id="no-query"),
        pytest.param(["export"], "the following arguments are required: DATABASE", id="no-database"),
        pytest.param(["crawl", "--\x1b[2J"], r"unknown option --\x1b[2J", id="escaped"),
    ],
)  # fmt: skip
def test_wrong_usage_is_reported_in_one_line_with_what_was_meant(arguments, message, capsys):
    assert refused(capsys, *arguments) == message


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        pytest.param(["query", "S", "select 1"], "query --store S 'select 1'", id="query"),
        pytest.param(["query", "select 1", "S", "-o", "csv"], "query 'select 1' --store S -o csv", id="query-first"),
        pytest.param(["query", "S"], "query --store S SQL", id="no-query"),
        pytest.param(["runs", "S"], "runs --store S", id="runs"),
        pytest.param(["runs", "S", "a.example"], "runs --store S a.example", id="runs-of-a-site"),
        pytest.param(["diff", "S", "a.example", "7d"], "diff --store S a.example 7d", id="diff"),
        pytest.param(["diff", "S"], "diff --store S SITE", id="diff-without-a-site"),
        pytest.param(["audit", "S"], "audit --store S", id="audit"),
        pytest.param(["crawl", "a.example", "S"], "crawl a.example --store S", id="crawl"),
        pytest.param(["runs", "s3://bucket/harvest"], "runs --store s3://bucket/harvest", id="object-store"),
    ],
)
def test_a_store_in_the_place_of_another_argument_is_recognized(arguments, meant, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_store("S", create=True)
    store = next(one for one in arguments if one.startswith(("S", "s3")))
    assert refused(capsys, *arguments) == f"{store} is a store; did you mean: sitemap-harvest {meant}"
    assert parse("runs", "--store", "elsewhere", "S").site == "S"


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        pytest.param([], {}, id="none"),
        pytest.param(["--since", "7d"], {"since": "7d"}, id="since"),
        pytest.param(["--since=7d", "--min-priority", "0.5"], {"since": "7d", "min_priority": "0.5"}, id="hyphen"),
        pytest.param(["--since", "7d", "-a", "since=7d"], {"since": "7d"}, id="the-same-twice"),
        pytest.param(["--since", "7d", "-a", "limit=1"], {"since": "7d", "limit": "1"}, id="both-forms"),
        pytest.param(["--since", "7d", "--since", "8d"], {"since": "8d"}, id="the-last-counts"),
        pytest.param(["--include", "/a/ /b/", "--include", "/c/"], {"include": "/a/ /b/ /c/"}, id="all-count"),
        pytest.param(["--force"], {"force": "yes"}, id="switch"),
        pytest.param(["--force", "no"], {"force": "no"}, id="switched-off"),
        pytest.param(["--force", "No"], {"force": "No"}, id="upper-case"),
        pytest.param(["--force", "true"], {"force": "true"}, id="refused-later"),
        pytest.param(["--force", "yes", "--resume"], {"force": "yes", "resume": "yes"}, id="switches"),
    ],
)
@pytest.mark.parametrize("action", TAKE_ARGUMENTS)
def test_options_are_arguments(action, given, arguments):
    opts = parse(action, "a.example", *given, "b.example")
    assert (opts.spargs, opts.targets) == (arguments, ["a.example", "b.example"])


def test_a_switch_before_a_target_does_not_take_it():
    opts = parse("crawl", "--force", "a.example", "--", "--force", "yes")
    assert (opts.spargs, opts.targets) == ({"force": "yes"}, ["a.example", "--force", "yes"])


@pytest.mark.parametrize(
    ("action", "message", "expected"),
    [
        pytest.param(
            "crawl", "argument min_priority='x': it must be 1", "--min-priority 'x': it must be 1", id="value"
        ),
        pytest.param("crawl", "argument root is empty", "--root is empty", id="no-value"),
        pytest.param("crawl", "write -a since=7d", "write --since 7d", id="-a"),
        pytest.param("crawl", "add one (store=snapshots)", "add one (--store snapshots)", id="hint"),
        pytest.param("crawl", "use sitemap= for a document", "use --sitemap for a document", id="name-alone"),
        pytest.param("crawl", "with the argument since", "with --since", id="without-equals-sign"),
        pytest.param("crawl", "argument site='x y': no", "TARGET 'x y': no", id="target"),
        pytest.param("crawl", "argument sitemap='x': no", "--sitemap 'x': no", id="given-by-option"),
        pytest.param("crawl", "x.example/?since=1: site, 'limit=1'", "x.example/?since=1: site, 'limit=1'", id="data"),
        pytest.param("audit", "use -a store=FOLDER, or since=7d", "use -a store=FOLDER, or --since 7d", id="audit"),
        pytest.param("runs", "argument site='x'", "argument site='x'", id="action-without-arguments"),
    ],
)
def test_messages_spell_arguments_as_the_options_that_the_action_has(action, message, expected):
    given = ["a.example"] if action == "runs" else ["a.example", "--sitemap", "s.xml"]
    assert as_typed(message, parse(action, *given)) == expected


@pytest.mark.parametrize("name", ARGUMENTS)
def test_each_argument_is_an_option_of_crawl(name):
    assert parse("crawl", f"{option_of(name)}=1").spargs == {name: "1"}


def test_options_of_the_audit_itself_are_no_arguments():
    opts = parse("audit", "--store", "s", "--at", "first", "--probe", "3", "--probe-seed", "1", "--details", "x/y")
    assert opts.spargs == {}
    assert (opts.store, opts.at, opts.probe, opts.probe_seed, opts.details) == ("s", "first", "3", "1", ["x/y"])


def test_options_of_scrapy_change_the_settings():
    command = HarvestCommand(PROGRAM)
    command.settings = Settings()
    command.parse("runs", ["-s", "BOT_NAME=x", "--set", "RETRY_TIMES=7", "-L", "ERROR", "--logfile", "x.log"])
    names = ("BOT_NAME", "RETRY_TIMES", "LOG_LEVEL", "LOG_FILE")
    assert [command.settings[name] for name in names] == ["x", "7", "ERROR", "x.log"]


def test_standard_output_with_a_format_is_a_value():
    assert parse("crawl", "a.example", "-o", "-:csv").output == ["-:csv"]
    assert parse("query", "select 1", "-O", "-:csv").output == "-:csv"


@pytest.mark.parametrize("action", ACTIONS)
def test_each_action_can_be_parsed_without_a_command(action):
    assert ActionParser(PROGRAM, action, lambda parser: None).prog == f"{PROGRAM} {action}"


@pytest.mark.parametrize(("action", "extras"), [("export", ["sqlite", "postgresql", "delta"]), ("query", ["xlsx"])])
def test_the_help_tells_which_formats_need_an_extra(action, extras):
    command = HarvestCommand()
    command.settings = Settings()
    text = " ".join(command.parser_of(action).format_help().split())
    (sentence,) = re.findall(r"[^;(]*need[^;)]* extra[^;)]*", text)
    assert all(extra in sentence for extra in extras)
