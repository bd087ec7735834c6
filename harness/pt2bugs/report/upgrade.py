"""The answer of `pt2bugs upgrade` as Markdown and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from pt2bugs.report.markdown import code, escape, table
from pt2bugs.report.templates import markup_templates

COLUMNS = {
    "torch": "torch",
    "outcome": "outcome",
    "graphs": "graphs",
    "breaks": "breaks",
    "recompiles": "recompilations",
    "guards": "guards",
    "kernels": "kernels",
    "peak_memory_mb": "peak memory, MB",
    "compile_s": "compilation, s",
    "speedup": "speed, eager = 1",
}
"""Keys of a run that are shown, and their titles."""


def as_markdown(program: str, answer: Mapping[str, Any], titles: Mapping[str, str], caveat: str) -> str:
    """Return the answer as Markdown.

    Args:
        program: its name.
        answer: as ``--json`` prints it.
        titles: of its lists.
        caveat: what it does not say.
    """
    return "\n".join(_markdown(program, answer, titles, caveat)) + "\n"


def _markdown(program: str, answer: Mapping[str, Any], titles: Mapping[str, str], caveat: str) -> Iterator[str]:
    yield f"# {code(program)}: torch {answer['from']} to {', '.join(answer['to'])}\n"
    for key, title in titles.items():
        yield f"## {title}\n"
        for entry in answer[key]:
            where = f"{code(entry['where'])}: " if entry["where"] else ""
            case = f" ({code(entry['case'])})" if entry["case"] else ""
            helps = f" {escape(entry['workaround'])}" if entry["workaround"] else ""
            yield f"- {where}{_spanned(entry['what'])}{case}{helps}"
        yield "" if answer[key] else "Nothing.\n"
    yield "## The program on each release\n"
    yield table(list(COLUMNS.values()), ([escape(_cell(run[key])) for key in COLUMNS] for run in answer["runs"]))
    for line in breaks_of(answer):
        yield f"\n- {escape(line)}"
    yield f"\n{escape(caveat)}"


def breaks_of(answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the graph breaks of the program: reason, place and releases, once each.

    Args:
        answer: as ``--json`` prints it.
    """
    releases: dict[tuple[str, str], list[str]] = {}
    for run in answer["runs"]:
        for reason, file, line in run["break_reasons"]:
            there = releases.setdefault((reason, f"{PurePath(file).name}:{line}" if file else ""), [])
            if run["torch"] not in there:
                there.append(run["torch"])
    for (reason, place), some in releases.items():
        yield f"graph break {f'at {place} ' if place else ''}on torch {', '.join(some)}: {reason}"


def spans_of(text: str) -> list[str]:
    """Return the parts of a text; those at odd places stood between backticks.

    Args:
        text: of an entry.
    """
    parts = text.split("`")
    return parts if len(parts) % 2 else [text]


def _spanned(text: str) -> str:
    def kept(part: str) -> str:
        """Return a part with the blanks at its ends, which the others stand behind and before."""
        return " " * part.startswith(" ") + escape(part) + " " * (len(part) > 1 and part.endswith(" "))

    return "".join(code(part) if number % 2 else kept(part) for number, part in enumerate(spans_of(text)))


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def as_page(program: str, answer: Mapping[str, Any], titles: Mapping[str, str], caveat: str) -> str:
    """Return the answer as a page that opens from the file system.

    Args:
        program: its name.
        answer: as ``--json`` prints it.
        titles: of its lists.
        caveat: what it does not say.
    """
    return (
        markup_templates()
        .get_template("upgrade.html.j2")
        .render(
            program=program,
            answer=answer,
            titles=titles,
            columns=COLUMNS,
            breaks=list(breaks_of(answer)),
            spans_of=spans_of,
            caveat=caveat,
        )
    )
