"""A page is followed as its reader does; deviations from the page are reported."""

from __future__ import annotations

import os
import socket
import time

import pytest

from tests.docs import following
from tests.docs.following import PageFailedError, Shell, follow
from tests.docs.howtos import read_page


def shell(body, *said):
    return "".join(f"<!-- {one} -->\n" for one in said) + f"```shell\n{body}\n```\n\n"


def shown(body):
    return f"<!-- output -->\n```text\n{body}\n```\n\n"


def go(folder, *blocks):
    place = folder / "work"
    place.mkdir()
    follow(read_page("".join(blocks)), place, dict(os.environ))
    return place


def test_variables_of_a_block_persist(tmp_path):
    go(
        tmp_path,
        shell("mkdir there; cd there\nexport A=1; B=2\nf() { echo $1; }"),
        shell("pwd; f $A$B; python -c 'import os; print(os.environ[\"A\"])'"),
        shown("...work/there\n12\n1"),
    )


def test_files_are_written(tmp_path):
    place = go(
        tmp_path,
        "<!-- file: a/b.py -->\n```python\nclass A:\n    x = '$HOME'\n```\n",
        "<!-- member: a/b.py -->\n```python\ndef f(self):\n    return 1\n```\n",
        "<!-- append: a/b.py -->\n```python\nprint(A().f())\n```\n",
        "```python\nimport a.b\n```\n",
        shown("1"),
    )
    text = "class A:\n    x = '$HOME'\n\n    def f(self):\n        return 1\nprint(A().f())\n"
    assert (place / "a" / "b.py").read_text() == text


@pytest.mark.parametrize(
    ("blocks", "says"),
    [
        pytest.param(
            [shell("echo a\nfalse\necho b")], "line 1, shell: it has exit code 1 and not 0", id="in-the-middle"
        ),
        pytest.param([shell("false | true")], "line 1, shell: it has exit code 1 and not 0", id="in-a-pipe"),
        pytest.param([shell("(false; true)")], "line 1, shell: it has exit code 1 and not 0", id="in-a-subshell"),
        pytest.param([shell("true", "exit: 4")], "line 2, shell: it has exit code 0 and not 4", id="too-well"),
        pytest.param([shell("exit 0")], "line 1, shell: it has not ended after", id="ends-the-shell"),
        pytest.param([shell("echo a"), shown("b")], "line 6, output: this line is not there", id="other-output"),
        pytest.param(["```python\n1 / 0\n```\n"], "line 1, python: it has exit code 1 and not 0", id="python"),
        pytest.param(
            [shell("echo '2026-11-22 05:05:39 [a] ERROR: no'")],
            "line 1, shell: it logs an error",
            id="error-in-the-log",
        ),
        pytest.param(
            ["<!-- file: /proc/no -->\n```text\na\n```\n"], "line 2, file: it cannot be written", id="no-file"
        ),
    ],
)
def test_deviations_from_the_page_are_reported(tmp_path, blocks, says):
    with pytest.raises(PageFailedError) as raised:
        go(tmp_path, *blocks)
    assert str(raised.value).startswith(says)


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([shell("false || true\nif false; then :; fi\n! true\ntrue")], id="intended-failures"),
        pytest.param([shell("echo a; (exit 4)", "exit: 4"), shown("a"), shell("echo b"), shown("b")], id="code"),
        pytest.param(
            [shell("echo '2026-11-22 05:05:39 [a] ERROR: no'"), shown("... ERROR: no")], id="error-that-is-shown"
        ),
    ],
)
def test_pages_that_are_right_pass(tmp_path, blocks):
    go(tmp_path, *blocks)


def test_a_block_that_takes_too_long_is_ended_with_all_its_processes(tmp_path, monkeypatch):
    monkeypatch.setattr(following, "PATIENCE_SECONDS", 0.5)
    began = time.monotonic()
    with pytest.raises(PageFailedError, match=r"it has not ended after 0\.5 seconds"):
        go(tmp_path, shell("sleep 600 & echo $! >pid; sleep 600"))
    assert time.monotonic() - began < 300
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "work" / "pid").read_text()), 0)


def test_a_server_runs_to_the_end_of_the_page(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = f"echo $$ >pid; exec python -m http.server {port} --bind 127.0.0.1"
    ask = f"import urllib.request as r; print(r.urlopen('http://127.0.0.1:{port}/pid').status)"
    go(tmp_path, shell(server, f"background: {port}"), shell(f'no_proxy=* python -c "{ask}"'), shown("200"))
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_port_in_use_is_reported(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PageFailedError, match=f"something else listens at port {port}"):
            go(tmp_path, shell("sleep 9", f"background: {port}"))


def test_a_block_can_run_on_a_terminal(tmp_path):
    width = "python -c 'import os; print(os.get_terminal_size(1).columns)'"
    go(tmp_path, shell(width, "terminal: 83"), shown("83"))


def test_commands_have_no_input(tmp_path):
    with Shell(tmp_path, dict(os.environ)) as bash:
        assert bash.run("cat; echo end", seconds=10) == (0, "end\n")
