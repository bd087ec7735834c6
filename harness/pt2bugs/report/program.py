"""Programs highlighted for the pages. Pygments escapes what it prints."""

from __future__ import annotations

from markupsafe import Markup
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

_LIGHT, _DARK = "default", "github-dark"


def highlighted(program: str) -> Markup:
    """The program as spans with classes, to stand inside ``<code>``."""
    return Markup(highlight(program, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)))


def rules() -> str:
    """The style rules of the spans, for a light page and a dark one."""
    light, dark = (
        HtmlFormatter(style=style, nobackground=True).get_token_style_defs(".program") for style in (_LIGHT, _DARK)
    )
    return "\n".join([*light, "@media (prefers-color-scheme: dark) {", *dark, "}"])
