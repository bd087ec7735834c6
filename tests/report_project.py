"""A project with every verdict there is, to be reported, and how to look into its pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from pt2bugs.isolate import fixes
from pt2bugs.results.journal import JournalWriter
from seeded import BLOCKED, BUG, write_backend_lines, write_case, write_journal

RELEASES = ("2.2.2", "2.9.1", "2.10.0", "2.13.0")
ROWS = {
    "pytorch_1": ("b", "B", ".", "."),
    "pytorch_2": ("B", ".", "F", "E"),
    "pytorch_3": ("s", "B.", "B", "."),
    "pytorch_4": (".", "E", "F", "B"),
}
BACKEND_ROWS = ("pytorch_1", "pytorch_2", "pytorch_3", "pytorch_4", "hostile")
BACKENDS = {"eager": "....F", "aot_eager": "B...F", "mine": "BF..F", "odd<b>&": "s...."}
HOSTILE = "</pre></script><script>window.pwned = 1</script><img src=x onerror='pwned=1'>\"&amp;"
_QUESTION: dict[str, Any] = {"check": "test_sum", "device": "cpu", "backend": "inductor", "direction": "fixed"}
_UNIT = {"file": "_decomp/decompositions.py", "qualname": "embedding", "kind": "function"}
ISOLATIONS: list[dict[str, Any]] = [
    {**_QUESTION, "case": "pytorch_1", "bad": "2.9.1", "good": "2.10.0", "evidence": "proved", "units": [_UNIT]},
    {**_QUESTION, "case": "pytorch_3", "bad": "2.10.0", "good": "2.13.0", "evidence": "swap", "units": [_UNIT]},
    {**_QUESTION, "case": "hostile", "bad": "2.9.1", "good": "2.13.0", "evidence": "executed", "units": []}
    | {"reason": HOSTILE},
]
HOSTILE_ISSUE = "https://example.org/'><script>window.pwned=1</script>"


def write_project(folder: Path) -> None:
    """Cases with every verdict there is, one never run, and one whose texts are hostile, its issue too."""
    for name, letters in ROWS.items():
        path = write_case(folder, name, bugs=[BLOCKED, BUG], title=f"Bug {name}")
        write_journal(folder, path, dict(zip(RELEASES, letters, strict=True)))
    write_case(folder, "pytorch_9", title="Never run")
    path = write_case(folder, "hostile", title=HOSTILE, issue=HOSTILE_ISSUE, labels=[HOSTILE], component="inductor")
    path.write_text(path.read_text().replace("def test", f'"""{HOSTILE}"""\n\ndef test', 1))
    write_journal(folder, path, {"2.9.1": "B", "2.13.0": "F"})
    journal = folder / "results" / "journal" / "hostile.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    journal.unlink()
    writer = JournalWriter(journal)
    for line in lines:
        texts: Any = dict.fromkeys(("message", "output_tail", "frame", "device_name", "error_type"), HOSTILE)
        record: Any = {**line, **texts}
        writer.append(record)
    writer.close()
    for name, seen in BACKENDS.items():
        extras = ("mine==1.0",) if name == "mine" else ()
        write_backend_lines(folder, folder / "cases", name, dict(zip(BACKEND_ROWS, seen, strict=True)), *extras)
    fixes.save(folder / "results", ISOLATIONS)


def folder_options(folder: Path) -> list[str]:
    return ["--cases", str(folder / "cases"), "--results", str(folder / "results")]


def text_of(element: Element | None) -> str:
    assert element is not None
    return "".join(element.itertext())


def find(page: Element, **attributes: str) -> Element:
    (element,) = (child for child in page.iter() if all(child.get(name) == value for name, value in attributes.items()))
    return element


def line_of(page: Element, anchor: str) -> Element:
    """The line of a case page that tells about a release."""
    (element,) = (child for child in page.iter("details") if any(inner.get("id") == anchor for inner in child.iter()))
    return element
