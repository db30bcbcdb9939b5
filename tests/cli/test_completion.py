"""Completion in a real bash, which needs no bash-completion."""

from __future__ import annotations

import subprocess

import pytest
from scrapy.settings import Settings

from sitemap_harvest.cli.completion import run
from sitemap_harvest.cli.harvest import HarvestCommand
from sitemap_harvest.cli.parsers import ACTIONS, PROGRAM
from tests.waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.quick


def script(shell, capsys):
    command = HarvestCommand(PROGRAM)
    command.settings = Settings()
    run(command.parse("completion", [shell]), command.settings)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param([""], list(ACTIONS), id="actions"),
        pytest.param(["cr"], ["crawl"], id="action"),
        pytest.param(["crawl", "--min"], ["--min-priority"], id="option"),
        pytest.param(["crawl", "a.example", "--missing-lastmod", ""], ["keep", "drop"], id="value"),
        pytest.param(["crawl", "--emit", "s"], ["sitemaps", "sites", "summaries"], id="kinds"),
        pytest.param(["crawl", "--root", "u"], ["urls.jsonl"], id="path"),
        pytest.param(["crawl", "--archive", ""], ["folder"], id="folder"),
        pytest.param(["crawl", "a.example", "-O", "u"], ["urls.jsonl"], id="file"),
        pytest.param(["crawl", "u"], ["urls.jsonl"], id="target"),
        pytest.param(["export", "u"], ["urls.jsonl"], id="database"),
        pytest.param(["audit", "--explain", "lastmod/un"], ["lastmod/unreadable"], id="rule"),
        pytest.param(["validate", "--fail-on", "e"], ["error"], id="severity"),
        pytest.param(["runs", "-L", "W"], ["WARNING"], id="level"),
        pytest.param(["completion", ""], ["bash", "zsh", "fish"], id="shells"),
    ],
)
def test_bash_offers(words, offered, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    (tmp_path / "urls.jsonl").touch()
    asked = '\nCOMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _shtab_sitemap_harvest; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-s", PROGRAM, *words],
        input=script("bash", capsys) + asked, cwd=tmp_path, check=True, capture_output=True, text=True,
        timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert done.stdout.splitlines() == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_know_each_action_and_option(shell, capsys):
    text = script(shell, capsys)
    assert [action for action in ACTIONS if action not in text] == []
    assert [option for option in ("min-priority", "missing-lastmod", "explain") if option not in text] == []
