"""The output of commands: data on stdout, progress and messages on stderr.

A terminal gets the same text in colours, with links and, where it is longer than the screen, in a pager. A pipe gets
it as it is.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, but for tabs and ends of lines, and those that turn the direction of a text."""


def harmless(text: str) -> str:
    """Return a text in which what would steer a terminal is written as escapes.

    Args:
        text: any.
    """
    return _STEERING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def say(text: str) -> None:
    """Tell the user something, on stderr: behind the answer if a pager is going to show what was printed of it.

    Args:
        text: a line; what of it came from outside cannot steer the terminal.
    """
    if isinstance(sys.stdout, _Screen) and sys.stdout.keeps_text:
        sys.stdout.said.append(text)
        return
    text = harmless(text)
    # A command that comes next is there to be copied.
    if sys.stderr.isatty() and not text.startswith(("next: ", "then: ")):
        text = "\n".join(map(_wrapped, text.split("\n")))
    print(_coloured(text) if _has_colours(sys.stderr) else text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Warn the user, on stderr.

    Args:
        text: a line.
    """
    say(f"pt2bugs: warning: {text}")


def print_json(value: Any, *, line: bool = False) -> None:
    """Print a value as JSON.

    Args:
        value: of plain types.
        line: on one line, at once, as one of several.
    """
    is_unicode = codecs.lookup(sys.stdout.encoding or "utf-8").name == "utf-8"
    print(json.dumps(value, indent=None if line else 1, ensure_ascii=not is_unicode), flush=line)


def is_terminal() -> bool:
    """Return whether stdout is read by a person: a terminal, or what ``FORCE_COLOR`` says is to be taken for one."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def fit(text: str, indent: int | None = None) -> str:
    """Return a line wrapped to the width of the terminal; whole in a pipe.

    Args:
        text: may begin with blanks.
        indent: of the lines that follow the first; by default two more than its own.
    """
    return _wrapped(text, indent) if sys.stdout.isatty() else text


def print_table(rows: Sequence[Sequence[str]]) -> None:
    """Print rows whose columns stand below each other. On a terminal a last column that does not fit is below its row.

    Args:
        rows: each with the same number of cells.
    """
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    for row in rows:
        print(row_of("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]))


def row_of(head: str, last: str) -> str:
    """Return a row of a table: on a terminal that it does not fit, its last column is below, indented and wrapped.

    Args:
        head: the other columns.
        last: of any length.
    """
    row = f"{head}  {last}".rstrip()
    if not is_narrower_than(row):
        return row
    indent = len(head) - len(head.lstrip()) + 4
    return f"{head.rstrip()}\n{_wrapped(' ' * indent + last, indent)}"


def columns() -> int:
    """Return the width of the terminal, or what a text is wrapped to where that is too narrow for words."""
    return max(20, shutil.get_terminal_size().columns)


def is_narrower_than(line: str) -> bool:
    """Return whether stdout is a terminal that a line does not fit.

    Args:
        line: of plain text.
    """
    return sys.stdout.isatty() and len(line) > shutil.get_terminal_size().columns


def _wrapped(text: str, indent: int | None = None) -> str:
    indent = len(text) - len(text.lstrip()) + 2 if indent is None else indent
    return textwrap.fill(
        text, columns(), subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )


def print_markdown(text: str) -> None:
    """Print Markdown: as it is in a pipe, to be pasted, and without its markup on a terminal.

    Args:
        text: a page.
    """
    if not is_terminal():
        sys.stdout.write(text)
        return
    from rich.markdown import Markdown

    print_drawn(Markdown(harmless(text)))


def print_drawn(drawn: RenderableType) -> None:
    """Print what rich draws, such as a table.

    Args:
        drawn: of texts that cannot steer the terminal.
    """
    from rich.console import Console

    console = Console()
    with console.capture() as shown:
        console.print(drawn)
    print_styled(shown.get())


def print_styled(text: str) -> None:
    """Print a text that has its own colours, or moves the cursor.

    Args:
        text: any part of lines; nothing of it is from outside.
    """
    getattr(sys.stdout, "write_styled", sys.stdout.write)(text)


# --- a terminal ----------------------------------------------------------------------------------------


def _has_colours(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


_BOLD, _RED, _GREEN, _YELLOW = "1", "31", "32", "33"
_STYLES = (
    # Titles of `compare` and `backend`.
    (r"^(?:(?:broken|different failure)\b[^:]*|only yours: .*) \(\d+.*", f"{_BOLD};{_RED}"),
    (r"^(?:(?:still there|cannot say)\b[^:]*|(?:from the layers above|not claimed): .*) \(\d+.*", f"{_BOLD};{_YELLOW}"),
    (r"^(?:(?:fixed|passes)\b[^:]*|not yours: .*) \(\d+.*", f"{_BOLD};{_GREEN}"),
    # The rows of `pt2bugs backend`, what differs from its baseline, and what `diff` says of a cell.
    (r"^(?:new|different)(?=: \S+::)", _RED),
    (r"^expired(?=: \S+::)", _YELLOW),
    (r"^gone(?=: \S+::)", _GREEN),
    (r"(?<= -  )does not run|(?<=: verdict )\w+ -> (?:fail|error)\b", _RED),
    (r"(?<= -  )not measured|(?<=: verdict )\w+ -> (?:xpass|flaky|not measured)\b", _YELLOW),
    (r"(?<=: verdict )\w+ -> (?:pass|xfail)\b", _GREEN),
    (r"^[\w-]+(?= +\d+\.\d+\.\d+ +\d)", _BOLD),
    # A verdict with its outcome, as `run` has it, and what `match`, `doctor` and `bisect` begin a line with.
    (r"(?<=: )(?:fail|error)(?= \()|^MISSING(?= )|^  introduced between.*|^pt2bugs:(?! warning)", _RED),
    (r"(?<=: )(?:xpass|flaky)(?= \()|^ *similar(?= \()|^pt2bugs: warning:", _YELLOW),
    (r"^ *known(?= \()|^ok(?= )|^  fixed between.*", _GREEN),
    (r"\b[a-z][a-z_]*_\d+\b", _BOLD),
)
"""Patterns of what a terminal shows in colour, each with its code; the first that fits counts."""
_ADDRESS = r"(?P<address>https?://[^\s`'\"<>]*[^\s`'\"<>.,;:)\]])"
_STYLED = re.compile("|".join([_ADDRESS, *(f"(?P<style{n}>{pattern})" for n, (pattern, _) in enumerate(_STYLES))]))
_ISSUE = "https://github.com/pytorch/pytorch/issues/"


def _coloured(line: str) -> str:
    """Return a line with colours and links; one that has its own stays as it is."""
    return line if "\x1b" in line else _STYLED.sub(_styled, line)


def _styled(match: re.Match[str]) -> str:
    text, group = match[0], str(match.lastgroup)
    if group == "address":
        return _linked(text, text)
    styled = f"\x1b[{_STYLES[int(group.removeprefix('style'))][1]}m{text}\x1b[0m"
    # The id of a case of PyTorch has the number of its issue.
    number = text.removeprefix("pytorch_")
    return _linked(styled, f"{_ISSUE}{number}") if text != number and number.isdigit() else styled


def _linked(text: str, address: str) -> str:
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


class _Screen(io.TextIOBase):
    """A terminal as standard output: lines get their colours as they are written.

    Args:
        terminal: takes the lines at once; or at the end, in a pager if `is_paged`.

    Attributes:
        said: what is to be told behind them.
    """

    def __init__(self, terminal: TextIO, *, is_paged: bool) -> None:
        self._terminal, self._is_paged, self._text = terminal, is_paged, ""
        self.said: list[str] = []
        self._show = _coloured if _has_colours(terminal) else str

    @property
    def keeps_text(self) -> bool:
        """Something was written that is not shown yet."""
        return self._is_paged and bool(self._text)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the terminal."""
        return self._terminal.encoding

    @property
    def buffer(self) -> Any:
        """The terminal's own, for bytes."""
        return self._terminal.buffer

    def isatty(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the terminal."""
        return self._terminal.fileno()

    def write(self, text: str) -> int:
        """Write or keep a text.

        Args:
            text: any part of lines; what of it came from outside cannot steer the terminal.
        """
        return self.write_styled(harmless(text))

    def write_styled(self, text: str) -> int:
        """Write or keep a text that has colours, or moves the cursor.

        Args:
            text: any part of lines.
        """
        self._text += text
        if not self._is_paged:
            whole, newline, self._text = self._text.rpartition("\n")
            self._terminal.write("".join(f"{line}\n" for line in map(self._show, whole.split("\n"))) if newline else "")
        return len(text)

    def flush(self) -> None:
        """Hand on what can be shown."""
        if not self._is_paged:
            self._terminal.write(self._text)
            self._text = ""
        self._terminal.flush()

    def end(self) -> None:
        """Show what was kept: in the pager if it is longer than the screen."""
        text, self._text = "\n".join(map(self._show, self._text.split("\n"))), ""
        columns, lines = shutil.get_terminal_size()
        rows = sum(max(1, -(-len(re.sub(_ESCAPES, "", line)) // columns)) for line in text.splitlines())
        if not self._is_paged or rows < lines or not _page(text):
            self._terminal.write(text)
            self._terminal.flush()
        for line in self.said:
            say(line)


_ESCAPES = r"\x1b\[[\d;]*m|\x1b\]8;[^\x1b]*\x1b\\"


def _page(text: str) -> bool:
    """Show a text in the pager that ``PAGER`` names, or less. Return False if there is none."""
    import shlex
    import subprocess

    command = os.environ.get("PAGER", "less")
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words or words == ["cat"] or shutil.which(words[0]) is None:
        return False
    # As git has it: nothing is cleared, and colours and links are passed on.
    environ = {"LESS": "FRX", **os.environ}
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=environ, text=True, errors="replace") as pager:
        assert pager.stdin is not None
        with contextlib.suppress(OSError, KeyboardInterrupt):
            pager.stdin.write(text)
            pager.stdin.close()
        while pager.returncode is None:
            with contextlib.suppress(KeyboardInterrupt):  # is the pager's, which goes on
                pager.wait()
    return True


@contextlib.contextmanager
def on_a_terminal(*, paged: bool) -> Iterator[None]:
    """Have what is printed meanwhile shown in colours if stdout is a terminal; else nothing changes.

    Args:
        paged: show it at the end, in a pager if it is longer than the screen.
    """
    if not sys.stdout.isatty():
        yield
        return
    screen = _Screen(sys.stdout, is_paged=paged)
    try:
        with contextlib.redirect_stdout(screen):
            yield
    finally:
        screen.end()


def side_by_side(releases: Sequence[str], width: int) -> list[list[str]]:
    """Return releases in groups that fit side by side as the columns of a table: a narrow terminal gets several.

    Args:
        releases: in their order.
        width: that is left for them.
    """
    groups: list[list[str]] = [[]]
    left = width
    for release in releases:
        needed = len(release) + 1
        if groups[-1] and needed > left:
            groups.append([])
            left = width
        groups[-1].append(release)
        left -= needed
    return groups


def elided(labels: Sequence[str], width: int) -> list[str]:
    """Return labels that fit: of a long one the begin of the case's id, and its end, which says which check it is.

    Two that would be alike stand whole, on lines of their own.

    Args:
        labels: all of a table, each different.
        width: for them.
    """
    if width < 32:
        return list(labels)
    cut = [label if len(label) <= width else f"{label[:15]}…{label[16 - width :]}" for label in labels]
    seen = Counter(cut)
    return [
        short if seen[short] == 1 else textwrap.fill(label, width, subsequent_indent="  ", break_on_hyphens=False)
        for label, short in zip(labels, cut, strict=True)
    ]
