"""The corpus: finding the case files under some folders, and selecting cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pt2bugs.case.header import NotRegularError, decode, is_case_text, parse_case, read_regular, why_not_a_case
from pt2bugs.case.model import Case, CaseError, Problem
from pt2bugs.errors import InputError
from pt2bugs.files import walked

Warn = Callable[[str], None]


def brought(name: str) -> Path:
    """Return the folder that came with the package, or stands beside it in a checkout.

    Args:
        name: ``cases`` or ``results``.
    """
    package = Path(__file__).resolve().parent.parent
    installed = package / "_corpus" / name
    return installed if installed.is_dir() else package.parent.parent / name


def corpus_roots(named: Sequence[Path]) -> list[Path]:
    """Return the folders of the corpus: those asked for, else `cases` here, else the installed one.

    Args:
        named: folders and files of the user.

    Raises:
        InputError: one asked for does not exist.
    """
    for path in named:
        if not path.exists():
            raise InputError(f"--cases {path}: there is no such file or folder")
    if named:
        return list(named)
    here = Path("cases")
    return [here if here.is_dir() else brought("cases")]


def is_case_file(path: Path, warn: Warn = lambda _: None) -> bool:
    """Return whether a file starts with script metadata that speaks of us.

    One that may not be read counts as a case, so that the corpus is not taken for smaller than it is.

    Args:
        path: of the file.
        warn: is told of what only looks like a case: code before the header, UTF-16, a pipe of that name.
    """
    if path.suffix != ".py":
        return False
    try:
        data = read_regular(path)
    except NotRegularError:
        if not path.is_dir():
            warn(f"{path}: left out: it is not a regular file")
        return False
    except OSError as error:
        return isinstance(error, PermissionError)
    if is_case_text(decode(data, "replace")):
        return True
    if why := why_not_a_case(data):
        warn(f"{path}: looks like a case, but {why}")
    return False


def find_case_files(roots: Iterable[Path], warn: Warn = lambda _: None) -> Iterator[Path]:
    """Yield the files with a header of ours, sorted; hidden folders are left out.

    Args:
        roots: files or folders.
        warn: as of `is_case_file`.

    Raises:
        InputError: a folder cannot be read.
    """
    for root in roots:
        if not root.is_dir():
            yield root
            continue
        yield from (path for path in sorted(walked(root, ".py")) if is_case_file(path, warn))


def load_cases(roots: Iterable[Path], warn: Warn = lambda _: None) -> list[Case]:
    """Return every case, sorted by id.

    Args:
        roots: files or folders.
        warn: as of `is_case_file`.

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
    # What is wrong beside the corpus is wrong of each of its files, and told once.
    errors = list({str(error): error for error in errors}.values())
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
    """Put a case into others by its id.

    Args:
        cases: those that are there, by id.
        case: the new one.

    Raises:
        CaseError: another file has that id.
    """
    known = cases.setdefault(case.id, case)
    if known.path != case.path:
        message = f"id {case.id!r} is taken by {known.path}; ids are unique, rename one file"
        raise CaseError(case.path, [Problem(None, message)])


@dataclass(frozen=True)
class Selection:
    """A selection of cases, with the same meaning in every command. An empty field selects everything."""

    patterns: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    symptoms: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    def matches(self, case: Case) -> bool:
        """Return whether a case is meant.

        Args:
            case: any case.
        """
        return (
            (not self.patterns or any(fnmatchcase(case.id, pattern) for pattern in self.patterns))
            and (not self.components or case.component in self.components)
            and (not self.symptoms or case.symptom in self.symptoms)
            and (not self.labels or bool(set(self.labels) & set(case.labels)))
        )


def roots_of(cases: Iterable[Case]) -> dict[str, str]:
    """Return by id the case that stands for all with one fix (`same-fix`); a case that names none stands for itself.

    Args:
        cases: those that may name each other.
    """
    same_fix = {case.id: case.same_fix for case in cases}
    return {id_: _root_of(id_, same_fix) for id_ in same_fix}


def _root_of(id_: str, same_fix: dict[str, str]) -> str:
    met = {id_}
    while (other := same_fix.get(id_, "")) and other not in met:
        met.add(other)
        id_ = other
    # Two that name each other have no first: the least id stands for both.
    return min(met) if other else id_
