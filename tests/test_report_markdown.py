"""Text as Markdown, read back by a parser: it says what was meant, whatever the text is."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from pt2bugs.report.markdown import code, code_block, escape, link, table

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TEXT = st.text(
    st.one_of(st.sampled_from("\\`*_[]()|~&<>@#$!-+=.:1 a\n"), st.characters(exclude_categories=["C", "Z"])),
    max_size=30,
)
"""Mostly the signs that mean something."""


def shown(markdown: str) -> str:
    """The text that a reader sees."""
    return unescape(re.sub(r"<[^>]*>", "", PARSER.render(markdown))).strip("\n")


def line(text: str) -> str:
    return " ".join(text.split())


@given(TEXT)
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    rendered = PARSER.render(escape(text))
    assert shown(escape(text)) == line(text)
    assert not re.search(r"<(?!/?p>)", rendered), rendered


@given(TEXT)
def test_a_code_span_shows_its_text(text: str) -> None:
    rendered = PARSER.render(f"a {code(text)}")
    assert shown(f"a {code(text)}").removeprefix("a").strip() == line(text)
    assert rendered.count("<code>") == bool(line(text))


@given(TEXT)
def test_a_code_block_holds_its_text(text: str) -> None:
    (token,) = PARSER.parse(f"{code_block(text, 'python')}")
    assert (token.type, token.info, token.content.strip("\n")) == ("fence", "python", text.strip("\n"))


@given(TEXT, TEXT)
def test_a_table_keeps_its_cells(first: str, second: str) -> None:
    rendered = PARSER.render(table(["a", "b"], [[escape(first), code(second.replace("\\", ""))]]))
    cells = [unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall("<td>(.*?)</td>", rendered)]
    assert cells == [line(first), line(second.replace("\\", ""))]


def test_nobody_is_mentioned_and_no_issue_is_named() -> None:
    text = "@torch.compile of #163640 costs $1"
    assert not re.search(r"[@#$](?=\w)", escape(text).replace("&#", ""))
    assert code("@torch.compile") == "`@torch.compile`", "nobody is mentioned in code"


def test_words_stay_readable() -> None:
    assert escape("torch._dynamo.exc in test_padding_mask, 2.9.1 -> 2.13.0") == (
        "torch.\\_dynamo.exc in test_padding_mask, 2.9.1 -> 2.13.0"
    )


def test_a_link_ends_where_its_address_does() -> None:
    rendered = PARSER.render(link("a](b", "https://example.org/a b)|<x>"))
    assert rendered == '<p><a href="https://example.org/a%20b%29%7C%3Cx%3E">a](b</a></p>\n'
    assert link("a_b", "") == "a_b"
