"""No path and no address of one run gets into the journal: results are compared across runs and machines."""

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
        longest_first = "|".join(re.escape(path) for path in sorted(self._names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?P<cell>{run_folder}/cell-[^/\s'\"]+)|(?P<run>{run_folder})|{longest_first}")

    def hide(self, text: str, case: Path) -> str:
        """`text` without paths and addresses of this machine; `case` is the case file."""
        text = _without_folders(text.replace(f"{case.parent}/", ""), case.name)
        text = self._pattern.sub(self._word, text)
        return _ADDRESS.sub(r"\g<1>0x...", text)

    def _word(self, found: re.Match[str]) -> str:
        if found["cell"]:
            return "<cell>"
        return "<scratch>" if found["run"] else self._names[found[0]]


_WORD = re.compile(r"[^\s'\"(]+")


def _without_folders(text: str, name: str) -> str:
    """`text` with every path that ends in ``/name`` cut down to the name.

    Guards quote their source by the end of its path, cut off anywhere. Each word is matched once, so that this takes
    no longer for 64,000 characters without a space.
    """
    if f"/{name}" not in text:
        return text
    ending = re.compile(rf"/{re.escape(name)}\b")

    def shortened(word: re.Match[str]) -> str:
        ends = [found.end() for found in ending.finditer(word[0])]
        return f"{name}{word[0][ends[-1] :]}" if ends else word[0]

    return _WORD.sub(shortened, text)


_ADDRESS = re.compile(r"(\bat |\b[Tt]hread |\((?=0x[0-9a-f]+ in ))0x[0-9a-f]{6,16}\b")
"""Of an object, of a thread in faulthandler's dump, and of a frame in the backtrace of a C++ exception of torch."""
