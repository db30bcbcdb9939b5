"""The steps of a page are found in its text."""

from __future__ import annotations

import pytest

from tests.docs.howtos import Does, PageError, Step, errors, lacks, read_page

PAGE = """\
<!-- needs: project, scrapyd -->
<!-- given: mkdir here -->

# A page

```shell
echo one
```

<!-- exit: 4 -->
<!-- terminal: 80 -->
```sh
false
```

- In a list:

  <!-- file: a/b.cfg -->
  ```ini
  [a]
  ```

<!-- given:
  if true; then
    echo two
  fi
-->

<!-- background: 6800 -->
```shell
serve
```

<!-- output: in any order -->
```text
one
```

<!-- not run: it needs systemd -->
```shell
systemctl start it
```
"""


def test_steps():
    page = read_page(PAGE)
    assert page.needs == {"project", "scrapyd"}
    assert page.steps == (
        Step(line=2, does=Does.GIVEN, body="mkdir here\n"),
        Step(line=6, does=Does.SHELL, body="echo one\n", language="shell"),
        Step(line=12, does=Does.SHELL, body="false\n", language="sh", exit=4, terminal=80),
        Step(line=19, does=Does.FILE, body="[a]\n", language="ini", value="a/b.cfg"),
        Step(line=23, does=Does.GIVEN, body="if true; then\n  echo two\nfi\n"),
        Step(line=30, does=Does.BACKGROUND, body="serve\n", language="shell", value="6800"),
        Step(line=35, does=Does.OUTPUT, body="one\n", language="text", value="in any order"),
        Step(line=40, does=Does.EXCUSED, body="systemctl start it\n", language="shell", value="it needs systemd"),
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param(
            "a\n\n```text\nb\n```\n", "line 3: nothing says what to do with a block of text", id="nothing-said"
        ),
        pytest.param("```\nb\n```\n", "line 1: nothing says what to do with a block of no language", id="no-language"),
        pytest.param(
            "<!-- outptu -->\n```text\nb\n```\n", "line 2: 'outptu' is nothing that can be said", id="misspelt"
        ),
        pytest.param("<!-- output -->\ntext\n", "line 2: 'output' is not above a block", id="over-text"),
        pytest.param("<!-- output -->\n", "'output' is not above a block", id="at-the-end"),
        pytest.param("```shell\necho\n", "line 1: a block that has no end", id="no-end"),
        pytest.param("<!-- needs: rust -->\n", "line 1: needs rust; there are", id="unknown-need"),
        pytest.param("<!-- not run -->\n```shell\na\n```\n", "line 2: 'not run' says nothing behind", id="no-reason"),
        pytest.param("<!-- file: a -->\n<!-- output -->\n```shell\na\n```\n", "line 3: it is both", id="two-things"),
        pytest.param("<!-- output -->\n```text\na\n```\n", "line 2: nothing before it prints", id="nothing-printed"),
        pytest.param("<!-- exit: four -->\n```shell\na\n```\n", "line 2: exit: 'four' is no number", id="no-number"),
        pytest.param("<!-- background: web -->\n```shell\na\n```\n", "line 2: background: 'web' is no", id="no-port"),
    ],
)
def test_pages_that_cannot_be_run_are_rejected_with_the_line(text, says):
    with pytest.raises(PageError) as raised:
        read_page(text)
    assert str(raised.value).startswith(says)


LOG = "2026-11-22 05:05:39 [scrapy.core.engine] INFO: Spider opened\n{'a': 1,\n 'b': 2}\n"


@pytest.mark.parametrize(
    ("shown", "printed", "missing"),
    [
        pytest.param("a\nc", "a\nb\nc\n", None, id="in-order"),
        pytest.param("c\na", "a\nb\nc\n", "a", id="in-another-order"),
        pytest.param("a\na", "a\nb\n", "a", id="as-often"),
        pytest.param("b", "abc\n", "b", id="not-a-part-of-a-line"),
        pytest.param("a...c", "abc\n", None, id="dots"),
        pytest.param("a\n...\nc", "a\nb\nc\n", None, id="line-of-dots"),
        pytest.param("a.c", "abc\n", "a.c", id="no-pattern"),
        pytest.param("Spider opened", LOG, None, id="log-without-prefix"),
        pytest.param("2026-11-22 05:05:39 [scrapy.core.engine] INFO: Spider opened", LOG, None, id="log-with-prefix"),
        pytest.param("Ended after 0.1 seconds.", "Ended after 12.3 seconds.\n", None, id="seconds"),
        pytest.param("read │ 9 │ 0.1", "read │ 9 │ 0.7\n", None, id="seconds-in-a-table"),
        pytest.param("read │ 9 │ 0.1", "read │ 8 │ 0.1\n", "read │ 9 │ 0.1", id="no-seconds"),
    ],
)
def test_missing_lines_are_reported(shown, printed, missing):
    assert lacks(Step(line=1, does=Does.OUTPUT, body=shown, language="text"), printed) == missing


def test_lines_in_any_order():
    step = Step(line=1, does=Does.OUTPUT, body="c\na\n", value="in any order")
    assert lacks(step, "a\nb\nc\n") is None
    assert lacks(step, "a\nb\n") == "c"


def test_json_is_compared_without_its_layout():
    step = Step(line=1, does=Does.OUTPUT, body='{\n  "a": 1,\n  "c": 0.5\n}\n', language="json")
    assert lacks(step, '{\n    "a": 1,\n    "b": null,\n    "c": 0.5,\n    "d": null\n}\n') is None
    assert lacks(step, '{\n    "a": 1,\n    "c": 0.7\n}\n') == '  "c": 0.5'


def test_errors_of_a_log():
    bad = "2026-11-22 05:05:39 [sitemap] ERROR: https://www.example.com: there is no snapshot"
    assert errors(f"{LOG}{bad}\n'log_count/ERROR': 1\n") == [bad]
    assert errors(LOG) == []
