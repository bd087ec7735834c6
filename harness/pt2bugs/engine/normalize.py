"""Takes the paths and addresses of one run out of texts, so that results can be compared across runs and machines."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

_OWN = f"{Path(__file__).resolve().parent.parent.parent}/"


class Normalizer:
    """Replaces the folders of this machine in text by what they are.

    The files of packages lose their folder (``torch/_dynamo/utils.py``), case files too; the rest becomes
    ``<cell>`` (a cell's own folder), ``<cache>``, ``<env>``, ``<python>`` or ``~``. Where an object was in memory
    (``<function f at 0x7f1e2c3b4d50>``), a thread or the code of a C++ frame becomes ``0x...``.

    Args:
        paths: folders of the environment's interpreter, and the word for each.
    """

    def __init__(self, paths: Mapping[str, str]) -> None:
        run_folder = re.escape(tempfile.gettempdir()) + r"/pt2bugs-[^/\s'\"]+"
        self._names = {path: word for path, word in {**paths, _OWN: "", str(Path.home()): "~"}.items() if len(path) > 1}
        self._cell, self._run = rf"(?P<cell>{run_folder}(?:/disk/cells)?/cell-[^/\s'\"]+)", f"(?P<run>{run_folder})"
        self._patterns: dict[str, re.Pattern[str]] = {}

    def hide(self, text: str, case: Path) -> str:
        """Return the text without paths and addresses of this machine.

        Args:
            text: printed by a cell.
            case: the case file.
        """
        text = self._pattern(f"{case.parent}/").sub(self._word, _without_folders(text, case.name))
        return _ADDRESS.sub(r"\g<1>0x...", text)

    def _pattern(self, beside: str) -> re.Pattern[str]:
        """Return a pattern of all folders, the longest first: one may lie in another."""
        if beside not in self._patterns:
            named = [re.escape(path) for path in sorted({*self._names, beside}, key=len, reverse=True)]
            inside = [re.escape(beside)] if re.match(f"{self._run}/", beside) else []
            self._patterns[beside] = re.compile("|".join([self._cell, *inside, self._run, *named]))
        return self._patterns[beside]

    def _word(self, match: re.Match[str]) -> str:
        if match["cell"]:
            return "<cell>"
        return "<scratch>" if match["run"] else self._names.get(match[0], "")


_WORD = re.compile(r"[^\s'\"(]+")


def _without_folders(text: str, name: str) -> str:
    """Return `text` with every path that ends in ``/name`` cut down to the name.

    Guards quote their source by the end of its path, cut off anywhere. Each word is matched once, so that this takes
    no longer for 64,000 characters without a space.
    """
    if f"/{name}" not in text:
        return text
    ending = re.compile(rf"/{re.escape(name)}\b")

    def shortened(word: re.Match[str]) -> str:
        ends = [match.end() for match in ending.finditer(word[0])]
        return f"{name}{word[0][ends[-1] :]}" if ends else word[0]

    return _WORD.sub(shortened, text)


_ADDRESS = re.compile(r"(\bat |\b[Tt]hread |\((?=0x[0-9a-f]+ in ))0x[0-9a-f]{6,16}\b")
"""Addresses: of objects, of threads in faulthandler's dump, of frames in the backtrace of a C++ exception of torch."""
