"""What a native crash leaves in a text: the words of the shell, the C library, faulthandler, a process pool."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PATTERNS = {
    "SIGSEGV": r"\bSegmentation fault\b|\bSIGSEGV\b|\bexit(?:ed with)? (?:code|status):? (?:139|-11)\b",
    "SIGFPE": r"\bFloating point exception\b|\bSIGFPE\b|\bexit(?:ed with)? (?:code|status):? (?:136|-8)\b",
    "SIGILL": r"\bIllegal instruction\b|\bSIGILL\b|\bexit(?:ed with)? (?:code|status):? (?:132|-4)\b",
    "SIGBUS": r"\bBus error\b|\bSIGBUS\b|\bexit(?:ed with)? (?:code|status):? (?:135|-7)\b",
    "SIGTRAP": r"\bTrace/breakpoint trap\b|\bSIGTRAP\b|\bexit(?:ed with)? (?:code|status):? (?:133|-5)\b",
    "SIGABRT": r"^(?:.*: )?Aborted(?: \(core dumped\))?$|\bFatal Python error: Aborted\b|\bSIGABRT\b"
    r"|\bexit(?:ed with)? (?:code|status):? (?:134|-6)\b"
    r"|^(?:free|malloc|realloc)\(\): |^malloc_consolidate\(|^munmap_chunk\(\): |^double free or corruption"
    r"|^corrupted (?:size|double-linked)|^terminate called ",
}
_SIGNALS = {signal: re.compile(pattern) for signal, pattern in _PATTERNS.items()}
_ANY = re.compile("|".join(_PATTERNS.values()))
_BELONGS = re.compile(
    r'^\s*(?:File "[^"]+", line \d+,? in |(?:Current thread|Thread) 0x|Extension modules:|what\(\): |\.\.\.$'
    r"|#\d+ |frame #\d+|Exception raised from |<no Python frame>|\(no Python frames\)|Stack \(most recent)"
)


def signal_in(text: str) -> str:
    """The signal that a line tells of; empty if it tells of none."""
    if not _ANY.search(text):
        return ""
    return next(signal for signal, pattern in _SIGNALS.items() if pattern.search(text))


def crash_at(lines: Sequence[str], at: int) -> tuple[str, int]:
    """The signal of the crash whose words start at a line, and the line after them; no signal if none starts there."""
    signal = signal_in(lines[at])
    if not signal:
        return "", at
    end = at + 1
    ahead = end
    while ahead < len(lines) and ahead < end + 12:
        text = lines[ahead]
        other = signal_in(text)
        if other and other != signal:
            break
        if other or _BELONGS.match(text):
            end = ahead + 1
        elif text.strip() and not re.match(r"^\s", text):
            break
        ahead += 1
    return signal, end
