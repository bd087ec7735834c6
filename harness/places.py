"""No path and no address of one run gets into the journal: results are compared across runs and machines."""

from __future__ import annotations

import re
import sys
import sysconfig
import tempfile
from pathlib import Path

from harness.warmup import cache_home


class Places:
    """Replaces the folders of this machine in text by what they are.

    The files of packages lose their folder (``torch/_dynamo/utils.py``), case files too; the rest becomes
    ``<cell>`` (a cell's own folder), ``<cache>``, ``<env>``, ``<python>`` or ``~``. Where an object was in memory
    (``<function f at 0x7f1e2c3b4d50>``) becomes ``0x...``.
    """

    def __init__(self) -> None:
        scratch = re.escape(tempfile.gettempdir()) + r"/pt2bugs-[^/\s'\"]+"
        names = {f"{sysconfig.get_path(name)}/": "" for name in ("purelib", "platlib") if sysconfig.get_path(name)}
        names |= {
            f"{sysconfig.get_path('stdlib')}/": "",
            str(cache_home()): "<cache>",
            sys.prefix: "<env>",
            sys.base_prefix: "<python>",
            str(Path.home()): "~",
        }
        names = {path: word for path, word in names.items() if len(path) > 1}
        self._names = names
        longest_first = "|".join(re.escape(path) for path in sorted(names, key=len, reverse=True))
        self._pattern = re.compile(rf"(?P<cell>{scratch}/cell-[^/\s'\"]+)|(?P<scratch>{scratch})|{longest_first}")

    def hide(self, text: str, case: Path) -> str:
        """`text` without paths and addresses of this machine; `case` is the case file."""
        # Guards quote their source by the end of its path, cut off anywhere.
        text = re.sub(rf"[^\s'\"(]*/{re.escape(case.name)}\b", case.name, text.replace(f"{case.parent}/", ""))
        text = self._pattern.sub(self._word, text)
        return _ADDRESS.sub("at 0x...", text)

    def _word(self, found: re.Match[str]) -> str:
        if found["cell"]:
            return "<cell>"
        return "<scratch>" if found["scratch"] else self._names[found[0]]


_ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,16}\b")
