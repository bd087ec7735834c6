"""Precision and recall of `pt2bugs match` on the journal, and on failures that are no bug.

python benchmarks/match.py                       the journal
python benchmarks/match.py --others DIR          and the outputs (*.txt) of other programs, of which none is known
python benchmarks/match.py --texts DIR           and outputs of which each is the case that its file is named after
python benchmarks/match.py --every 10            of every tenth distinct failure, where the machine has other work
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import ROOT, log
from pt2bugs.case.corpus import load_cases
from pt2bugs.case.model import Bug, Case
from pt2bugs.case.versions import public_or_empty
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.match.known import IDENTITY, KnownBugs, Match, Signature, is_refusal
from pt2bugs.match.wording import is_ordinary, own_message
from pt2bugs.results.journal import Record, journal_files, read_journal
from pt2bugs.results.line import CellKey, cell_key


@dataclass(frozen=True)
class Text:
    """A failure as it would be pasted, the case that it is ("" for none), and what kind of failure it is.

    `failure` is the same for the texts of one distinct failure: those that differ in numbers, addresses and lines only.
    """

    case: str
    kind: str
    text: str
    failure: Hashable = None
    release: str = ""


def of_a_reader(message: str, case: str) -> str:
    """A message as the program of somebody else gives it: its file, its lines, its names."""
    own_line = re.compile(
        rf'(?P<place>File "[^"\n]*\b{re.escape(case)}\.py", line \d+, in )\S+\n(?P<indent>[ \t]+)\S.*'
    )
    message = own_line.sub(r"\g<place>step\n\g<indent>y = self.step(x)", message)
    return message.replace(f"{case}.py", "train.py").replace(f"pt2bugs_case_{case}", "__main__").replace(case, "mine")


def text_of(record: Record, bug: Bug | None = None) -> str:
    """A journal line as Python prints the failure: the torch frames that were kept, the type, the message.

    The program is that of somebody else. What it printed before stands there only where the bug is documented by it.
    """
    if record["outcome"] == Outcome.CRASH:
        return f"{record['output_tail']}\nFatal Python error: the process died by {record['signal']}\n"
    frames = [frame for frame in (record["frame"], *record.get("frames", [])) if frame]
    lines = [record["output_tail"]] if bug is not None and bug.output else []
    lines += ["Traceback (most recent call last):", '  File "program.py", line 1, in <module>', "    main()"]
    for frame in reversed(frames):
        place, _, function = frame.partition(" ")
        file, _, line = place.rpartition(":")
        lines.append(f'  File "site-packages/{file}", line {line}, in {function}')
    message = of_a_reader(record["message"], record["case"])
    end = f"{record['error_type']}: {message}" if message else record["error_type"]
    return "\n".join([*lines, end]) + "\n"


_PYTHONS = frozenset({"AttributeError", "IndexError", "KeyError", "NameError", "TypeError", "ZeroDivisionError"})
_WRAPPER = re.compile(r"^torch/_dynamo/eval_frame\.py:\d+ (?:_fn|compile_wrapper)$")


def kind_of(record: Record, bug: Bug) -> str:
    """Return what there is to recognize the failure by."""
    if record["outcome"] == Outcome.RAISE:
        if is_refusal(bug) and is_ordinary(bug.match or ""):
            return "refused in the words of an ordinary mistake"
        # Below Dynamo's wrapper there is only the program, whose own mistake this may be.
        is_programs = record["error_type"] in _PYTHONS and _WRAPPER.match(record["frame"])
        return "raised in the compiled program" if is_programs else "raised inside torch"
    if record["outcome"] == Outcome.WRONG:
        return (
            "wrong result, in the check's own words" if own_message(record["message"]) else "wrong result, assert_close"
        )
    return str(record["outcome"])


def texts_of(records: Iterable[Record], known: KnownBugs) -> list[Text]:
    """Every failure of the journal that is a documented bug: of each cell the newest, each text of a release once."""
    newest: dict[CellKey, tuple[Record, Bug, Signature]] = {}
    for record in records:
        documented = known.documented(record)
        key = cell_key(record)
        if documented is not None and (key not in newest or record["started"] >= newest[key][0]["started"]):
            newest[key] = (record, *documented)
    texts = (
        Text(
            record["case"],
            kind_of(record, bug),
            text_of(record, bug),
            (record["case"], bug.line, signature),
            public_or_empty(record["torch"]),
        )
        for record, bug, signature in newest.values()
    )
    return list(dict.fromkeys(texts))


def every_nth(texts: Sequence[Text], every: int) -> list[Text]:
    """All texts of every Nth distinct failure."""
    chosen = set(list(dict.fromkeys(text.failure for text in texts))[::every])
    return [text for text in texts if text.failure in chosen]


def first_matches(known: KnownBugs, text: str) -> list[Match]:
    return [match for recognized in known.recognize(text) for match in recognized.matches]


@dataclass
class Answer:
    """What the texts of a distinct failure were taken for; `known`, `first` and `listed` only if every one was."""

    known: bool = True
    first: bool = True
    listed: bool = True
    wrong: bool = False


class Tally:
    """Answers to one kind of failure."""

    def __init__(self) -> None:
        self.answers: dict[Hashable, Answer] = {}
        self.texts = self.known_texts = 0
        self.wrong: list[str] = []

    def add(self, known: KnownBugs, text: Text) -> None:
        matches = first_matches(known, text.text)
        group = known.bugs[text.case].group if text.case else ""
        same = {id_ for id_, bug in known.bugs.items() if bug.group == group}
        said = [match for match in matches if match.kind == IDENTITY]
        is_right = any(match.case.id in same for match in said)
        others = sorted({match.case.id for match in said} - same)
        answer = self.answers.setdefault(text.failure or len(self.answers), Answer())
        answer.known &= is_right
        answer.first &= bool(matches) and matches[0].case.id in same
        answer.listed &= any(match.case.id in same for match in matches)
        self.texts += 1
        self.known_texts += is_right
        if others and not is_right:
            answer.wrong = True
            self.wrong.append(f"{text.case or 'other'}: called {', '.join(others)}")

    def count(self, name: str) -> int:
        return sum(getattr(answer, name) for answer in self.answers.values())


def tally(pairs: Iterable[tuple[KnownBugs, Text]]) -> dict[str, Tally]:
    tallies: dict[str, Tally] = {}
    for known, text in pairs:
        tallies.setdefault(text.kind, Tally()).add(known, text)
    return tallies


def show(title: str, tallies: dict[str, Tally]) -> None:
    print(f"\n{title}\n")
    print("| failures | distinct | known | its case first | its case listed | known as another only | texts | known |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for kind, part in sorted(tallies.items()):
        count, known = len(part.answers), part.count("known")
        parts = (
            f"{known} ({known / count:.0%}) | {part.count('first')} | {part.count('listed')} | {part.count('wrong')}"
        )
        texts = f"{part.texts} | {part.known_texts} ({part.known_texts / part.texts:.0%})"
        print(f"| {kind} | {count} | {parts} | {texts} |")
    for part in tallies.values():
        for text in sorted(set(part.wrong)):
            log(f"wrong: {text}")


def left_out(
    records: Sequence[Record], cases: Sequence[Case], texts: Sequence[Text]
) -> Iterator[tuple[KnownBugs, Text]]:
    """Failures of each release, with the journal of all the others."""
    for release in sorted({text.release for text in texts}):
        known = KnownBugs(cases, (record for record in records if public_or_empty(record["torch"]) != release))
        for text in texts:
            if text.release == release:
                yield known, text


def files(folder: Path, kind: str, *, is_known: bool) -> list[Text]:
    """The outputs of programs; where they are known, the file is named after the case."""
    return [
        Text(path.stem.partition(".")[0] if is_known else "", kind, path.read_text("utf-8", "replace"))
        for path in sorted(folder.glob("*.txt"))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, default=ROOT / "cases")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--others", type=Path, action="append", default=[], help="outputs that are no known bug")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="outputs of known bugs")
    parser.add_argument("--every", type=int, default=1, help="take every Nth distinct failure only")
    parser.add_argument("--whole", action="store_true", help="only by the whole journal, no release left out")
    options = parser.parse_args()
    cases = load_cases([options.cases], log)
    records = list(read_journal(journal_files(options.results / "journal", log), log))
    known = KnownBugs(cases, records)
    texts = every_nth(texts_of(records, known), options.every)
    began = time.perf_counter()
    show("Every distinct failure of the journal, by the whole journal", tally((known, text) for text in texts))
    log(f"{(time.perf_counter() - began) / max(1, len(texts)) * 1000:.1f} ms for each text")
    if not options.whole:
        show("Failures of each release, by the journal of the others", tally(left_out(records, cases, texts)))
    for folder in options.texts:
        show(
            f"Outputs of known bugs, {folder.name}",
            tally((known, t) for t in files(folder, folder.name, is_known=True)),
        )
    for folder in options.others:
        show(f"Other failures, {folder.name}", tally((known, t) for t in files(folder, folder.name, is_known=False)))


if __name__ == "__main__":
    main()
