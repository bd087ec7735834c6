"""The corpus: finding the case files under some folders, and selecting cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pt2bugs.case.header import parse_case
from pt2bugs.case.model import Case, CaseError, Problem
from pt2bugs.case.script_block import NotRegularError, is_case_text, read_regular, why_not_a_case

Warn = Callable[[str], None]


def brought(name: str) -> Path:
    """The folder of that name (`cases`, `results`) that came with the package, or stands beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "_corpus" / name
    return installed if installed.is_dir() else package.parent.parent / name


def is_case_file(path: Path, warn: Warn = lambda _: None) -> bool:
    """Whether the file starts with script metadata that speaks of us.

    What only looks like a case (code before the header, UTF-16, a pipe of that name) is not one; `warn` is told why.
    """
    if path.suffix != ".py":
        return False
    try:
        data = read_regular(path)
    except NotRegularError:
        if not path.is_dir():
            warn(f"{path}: left out: it is not a regular file")
        return False
    except OSError:
        return False
    if is_case_text(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace").replace("\r\n", "\n")):
        return True
    if why := why_not_a_case(data):
        warn(f"{path}: looks like a case, but {why}")
    return False


def find_case_files(roots: Iterable[Path], warn: Warn = lambda _: None) -> Iterator[Path]:
    """Files with a header of ours under `roots` (files or folders), sorted; hidden folders are left out."""
    for root in roots:
        if not root.is_dir():
            yield root
            continue
        for path in sorted(root.rglob("*.py")):
            hidden = any(part.startswith(".") for part in path.relative_to(root).parts)
            if not hidden and is_case_file(path, warn):
                yield path


def load_cases(roots: Iterable[Path], warn: Warn = lambda _: None) -> list[Case]:
    """Every case under `roots`, sorted by id.

    Raises:
        CaseError: files break the contract, or two have one id. It names every problem of every file.
    """
    cases: dict[str, Case] = {}
    errors: list[CaseError] = []
    for path in dict.fromkeys(find_case_files(roots, warn)):
        try:
            add_unique(cases, parse_case(path))
        except CaseError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise CorpusError(errors)
    return [cases[id_] for id_ in sorted(cases)]


class CorpusError(CaseError):
    """Several files break the contract; the message has a line for every problem of each."""

    def __init__(self, errors: list[CaseError]) -> None:
        super().__init__(errors[0].path, errors[0].problems)
        self.args = ("\n".join(str(error) for error in errors),)
        self.errors = tuple(errors)

    def __reduce__(self) -> tuple[type[CorpusError], tuple[list[CaseError]]]:  # type: ignore[override]
        return type(self), (list(self.errors),)


def add_unique(cases: dict[str, Case], case: Case) -> None:
    """Put `case` into `cases` by its id.

    Raises:
        CaseError: another file has that id.
    """
    known = cases.setdefault(case.id, case)
    if known.path != case.path:
        message = f"id {case.id!r} is taken by {known.path}; ids are unique, rename one file"
        raise CaseError(case.path, [Problem(None, message)])


@dataclass(frozen=True)
class Selection:
    """Which cases are meant. The same everywhere; an empty field selects everything."""

    patterns: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def matches(self, case: Case) -> bool:
        return (
            (not self.patterns or any(fnmatchcase(case.id, pattern) for pattern in self.patterns))
            and (not self.components or case.component in self.components)
            and (not self.symptoms or case.symptom in self.symptoms)
            and (not self.labels or bool(set(self.labels) & set(case.labels)))
        )
