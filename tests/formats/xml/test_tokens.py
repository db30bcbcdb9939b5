from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sitemap_harvest.formats.xml.tokens import Token, Tokenizer, attributes
from tests.documents import log, noted
from tests.machine import processor_seconds

Seen = list[tuple[str, ...]]


def tokens(*chunks: str) -> tuple[Seen, dict[str, int]]:
    """Return ``("<", name, attributes)``, ``("</", name)``, ``(">", text)``; adjacent texts are joined."""
    problems = log()
    seen: Seen = []
    for token in Tokenizer(iter(chunks), problems):
        if token.sort == "text":
            before = seen.pop()[1] if seen and seen[-1][0] == ">" else ""
            seen.append((">", before + token.value))
        elif token.sort == "start":
            seen.append(("</>" if token.is_empty else "<", token.value, token.attributes.strip()))
        else:
            seen.append(("</", token.value))
    return [one for one in seen if one != (">", "")], noted(problems)


@pytest.mark.parametrize(
    ("text", "seen", "problems"),
    [
        pytest.param("<a>b</a>", [("<", "a", ""), (">", "b"), ("</", "a")], {}, id="element"),
        pytest.param("<a b='c'/>", [("</>", "a", "b='c'")], {}, id="empty-element"),
        pytest.param('<a b="x > y / z">', [("<", "a", 'b="x > y / z"')], {}, id="sign-in-an-attribute"),
        pytest.param("</a >", [("</", "a")], {}, id="space-in-an-end-tag"),
        pytest.param("&lt;&amp;&#65;&#x42;&quot;", [(">", '<&AB"')], {}, id="references"),
        pytest.param("a&b", [(">", "a&b")], {"xml/bare-ampersand": 1}, id="bare-ampersand"),
        pytest.param("&nbsp;", [(">", "&nbsp;")], {"xml/unknown-entity": 1}, id="unknown-entity"),
        pytest.param("&#xD800;&#1114112;", [(">", "&#xD800;&#1114112;")], {"xml/unknown-entity": 2}, id="no-character"),
        pytest.param("<![CDATA[<a>&amp;]]>", [(">", "<a>&amp;")], {}, id="cdata"),
        pytest.param("<![CDATA[a]b", [(">", "a]b")], {}, id="cdata-that-does-not-end"),
        pytest.param("a<!-- <b> -- -->c", [(">", "ac")], {}, id="comment"),
        pytest.param("a<!-- <b>", [(">", "a")], {}, id="comment-that-does-not-end"),
        pytest.param("a<?b <b> ?>c", [(">", "ac")], {}, id="instruction"),
        pytest.param("a<?PHP <b> ?>c<?= $d ?>", [(">", "a<?...?>c<?...?>")], {}, id="php"),
        pytest.param("<!DOCTYPE a [<!ENTITY b '>'>]>c", [(">", "c")], {"xml/doctype": 1}, id="doctype"),
        pytest.param(
            "<!DOCTYPE a [", [(">", " a [")], {"xml/doctype": 1, "xml/malformed": 1}, id="doctype-that-does-not-end"
        ),
        pytest.param("1 < 2 > 0", [(">", "1 < 2 > 0")], {"xml/bare-less-than": 1}, id="stray-sign"),
        pytest.param('<a b="c>d', [("<", "a", 'b="c'), (">", "d")], {}, id="quote-that-does-not-end"),
        pytest.param("a<b", [(">", "a")], {"xml/truncated": 1}, id="cut-start-tag"),
        pytest.param("a</b", [(">", "a")], {"xml/truncated": 1}, id="cut-end-tag"),
        pytest.param("a\x00b\x1f", [(">", "a\x00b\x1f")], {"xml/control-character": 2}, id="control-characters"),
        pytest.param("<é:a.b-c>", [("<", "é:a.b-c", "")], {}, id="letters-of-names"),
    ],
)
def test_tokens(text: str, seen: Seen, problems: dict[str, int]) -> None:
    assert tokens(text) == (seen, problems)
    assert tokens(*text) == (seen, problems)


pieces = st.sampled_from(
    [
        *(
            "<",
            ">",
            "</",
            "/>",
            "<a",
            "<a>",
            "</a>",
            "<b c='d'",
            '"',
            "'",
            "=",
            " ",
            "\n",
            "&",
            "&amp;",
            "&#6",
            "5;",
            ";",
        ),
        *(
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "]",
            "<?",
            "?>",
            "<!DOCTYPE",
            "[",
            "<!ENTITY x 'y'>",
            "]>",
            "&x;",
            "\x00",
            "é",
        ),
    ]
)


@given(st.lists(pieces, max_size=10).map("".join))
@example('<a b="c > d">e</a>')
@example("<a b='<'><c>")
def test_the_size_of_blocks_does_not_matter(text: str) -> None:
    whole = tokens(text)
    for at in range(1, len(text)):
        assert tokens(text[:at], text[at:]) == whole
    assert tokens(*text) == whole


@given(st.lists(pieces, max_size=10).map("".join))
def test_lines_are_counted_through_everything(text: str) -> None:
    tokenizer = Tokenizer(iter(text), log())
    lines = [token.line for token in tokenizer]
    assert lines == sorted(lines)
    assert tokenizer.line <= text.count("\n") + 1


def test_a_token_has_its_line() -> None:
    found = list(Tokenizer(iter(["a\n<b\n>", "<!--\n-->", "c\n&amp;\n</b>"]), log()))
    assert [(token.sort, token.value, token.line) for token in found] == [
        ("text", "a\n", 1),
        ("start", "b", 2),
        ("text", "c\n&\n", 4),
        ("end", "b", 6),
    ]


@pytest.mark.parametrize("text", ["<", "< ", "<b", "<a b='", "&", "<![CDATA[", "a<1", "a<1>", "a&<b"])
def test_no_text_is_slow(text: str) -> None:
    # Other processes may disturb one measurement, but hardly five in a row.
    assert any(_seconds(text * 100_000) < 2.5 * _seconds(text * 50_000) + 0.01 for _ in range(5))


def _seconds(text: str) -> float:
    return processor_seconds(lambda: [None for _ in Tokenizer(iter([text + ">"]), log())])


@pytest.mark.parametrize("size", [1, 7, 65_536])
def test_every_sign_that_begins_no_tag_is_reported(size: int) -> None:
    text, problems = "1<2<<3 & 4 < <b " * 50, log()
    pieces = (f"<a>{text}</a>"[at : at + size] for at in range(0, len(text) + 7, size))
    found = list(Tokenizer(pieces, problems))
    assert "".join(one.value for one in found if one.sort == "text") == text
    assert [one.value for one in found if one.sort != "text"] == ["a", "a"]
    assert noted(problems) == {"xml/bare-ampersand": 50, "xml/bare-less-than": 200, "xml/malformed": 50}


def test_attributes() -> None:
    token = Token("start", "a", 1, " a='1' b = \"2 &amp; 3\" c=4 d e='' a='5'")
    problems = log()
    assert attributes(token, problems) == {"a": "1", "b": "2 & 3", "c": "4", "e": ""}
    assert noted(problems) == {"xml/bad-attributes": 1}


@pytest.mark.parametrize(
    ("text", "found", "problems"),
    [
        (
            """  a='1'
 x:b = "'2'" """,
            {"a": "1", "x:b": "'2'"},
            {},
        ),
        (" href='/?a&b=1'", {"href": "/?a&b=1"}, {"xml/bare-ampersand": 1}),
        (" a='&nbsp;'", {"a": "&nbsp;"}, {"xml/unknown-entity": 1}),
        (" href=/a", {"href": "/a"}, {"xml/bad-attributes": 1}),
        (" a", {}, {"xml/bad-attributes": 1}),
    ],
)
def test_flaws_of_attributes(text: str, found: dict[str, str], problems: dict[str, int]) -> None:
    noted_here = log()
    assert attributes(Token("start", "a", 1, text), noted_here) == found
    assert noted(noted_here) == problems
