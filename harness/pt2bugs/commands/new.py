"""`pt2bugs new`: a case file from an issue and a script, complete but for what only a person knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path

from pt2bugs.case.corpus import corpus_roots, load_cases
from pt2bugs.case.model import Case, CaseError
from pt2bugs.case.vocabulary import COMPONENTS, SYMPTOMS
from pt2bugs.commands import OK
from pt2bugs.commands.console import say
from pt2bugs.commands.options import option
from pt2bugs.curate.duplicates import Neighbour, nearest
from pt2bugs.curate.new_case import empty_script, name_of, new_case_text, read_script
from pt2bugs.curate.placeholders import placeholders_in
from pt2bugs.envs.extras import installed_torch
from pt2bugs.errors import InputError
from pt2bugs.files import walked, write_text

EXAMPLES = (("pt2bugs new 138654 --from script.py", "a case file from a script that shows the bug"),)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `new`; `script` is a script, or the folder that a triage left."""

    issue: str = option("ISSUE|ID", default=MISSING, help="an issue's number or address, or an id")
    script: Path | None = option(
        "--from", parse=Path, metavar="SCRIPT", help="the program, or the folder that `triage -o` left"
    )
    title: str = option("--title", default="", help="the bug in one line")
    component: str = option(
        "--component", default="", choices=COMPONENTS, metavar="NAME", help="the layer that has the bug"
    )
    symptom: str = option("--symptom", default="", choices=SYMPTOMS, metavar="NAME", help="how it shows")
    cases: Path = option(
        "--cases", default=Path("cases"), parse=Path, metavar="DIR", help="the corpus (default: ./cases)"
    )


def run(options: Options) -> int:
    """Query, render. Return the exit code.

    Args:
        options: of the command.
    """
    return render(query(options))


@dataclass(frozen=True)
class NewCase:
    """A case file that is to be written, with the cases nearest to it; it `is_ready` if its place is known."""

    id: str
    path: Path
    text: str
    is_ready: bool
    neighbours: Sequence[Neighbour]


def query(options: Options) -> NewCase:
    """Return the case file of an issue and a script, and where it is to be.

    Args:
        options: of the command.

    Raises:
        InputError: the issue or the script is none, or the case is there already.
    """
    name = name_of(options.issue)
    script = read_script(options.script) if options.script else empty_script()
    settings = {"title": options.title, "component": options.component, "symptom": options.symptom}
    text = new_case_text(name, script, settings, installed_torch())
    component, symptom = (
        getattr(options, key) or str(script.settings.get(key, "")) for key in ("component", "symptom")
    )
    # A corpus with an unfinished header stops every command: without a component the file waits outside.
    is_ready = component in COMPONENTS and 'title = ""' not in text and 'symptom = ""' not in text
    path = (options.cases / component if is_ready else Path()) / f"{name.id}.py"
    for known in [path, *(file for file in walked(options.cases, ".py") if file.name == f"{name.id}.py")]:
        if known.exists():
            raise InputError(f"{known}: is there already; name another id, or edit it")
    corpus = _corpus(options.cases)
    if documented := next((case for case in corpus if case.id == name.id), None):
        raise InputError(f"{name.id}: is documented by {documented.path}; name another id for a case of your own")
    return NewCase(name.id, path, text, is_ready, nearest(text, component, symptom, corpus))


def _corpus(folder: Path) -> list[Case]:
    """Return the cases of a folder, else those that are installed; none where they cannot be read."""
    try:
        return load_cases(corpus_roots([folder] if folder.is_dir() else ()))
    except CaseError:
        return []


def render(new: NewCase) -> int:
    """Write the file, and print what only a person knows. Return the exit code.

    Args:
        new: the case file.

    Raises:
        FileError: it cannot be written.
    """
    write_text(new.path, new.text)
    print(new.path)
    if new.neighbours:
        say("nearest cases; if one is this bug, there is nothing to measure:")
    for neighbour in new.neighbours:
        case, shared = neighbour.case, ", ".join(neighbour.shared[:3])
        why = f"{case.component}, {case.symptom}" + (f"; {shared}" if shared else "")
        say(f"  {case.id}  {case.title} ({why})")
    placeholders = placeholders_in(new.text)
    for placeholder in placeholders:
        say(f"{new.path}:{placeholder.line}: {placeholder.text}")
    if placeholders:
        say(f"next: fill these lines in, with pt2bugs check --watch {new.path}")
    say(
        f"then: pt2bugs run {new.id} --torch minors --bisect"
        if new.is_ready
        else f"then: pt2bugs check --fix {new.path}"
    )
    return OK
