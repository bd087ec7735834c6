"""How well `pt2bugs match` recognizes failures: precision and recall on the journal, and on failures that are no bug.

python benchmarks/match.py                       the journal
python benchmarks/match.py --others DIR          and the outputs (*.txt) of other programs, of which none is known
python benchmarks/match.py --texts DIR           and outputs of which each is the case that its file is named after
python benchmarks/match.py --every 10            of every tenth failure, on a machine that has other things to do
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import ROOT, talk
from pt2bugs.case.corpus import load_cases
from pt2bugs.case.words import Outcome
from pt2bugs.results.journal import journal_files, read_journal
from pt2bugs.results.matrix import public_or_empty
from pt2bugs.results.record import Record
from pt2bugs.triage.answer import KnownBugs
from pt2bugs.triage.match import IDENTITY, Match
from pt2bugs.triage.ordinary import own_words
from pt2bugs.triage.signatures import Signatures


@dataclass(frozen=True)
class Text:
    """A failure as it would be pasted, the case that it is ("" for none), and what kind of failure it is."""

    case: str
    kind: str
    text: str


def text_of(record: Record) -> str:
    """A journal line as Python prints the failure: the torch frames that were kept, the type, the message."""
    if record["outcome"] == Outcome.CRASH:
        return f"{record['output_tail']}\nFatal Python error: the process died by {record['signal']}\n"
    frames = [frame for frame in (record["frame"], *record.get("frames", [])) if frame]
    lines = ["Traceback (most recent call last):", '  File "program.py", line 1, in <module>', "    main()"]
    for frame in reversed(frames):
        place, _, function = frame.partition(" ")
        file, _, line = place.rpartition(":")
        lines.append(f'  File "site-packages/{file}", line {line}, in {function}')
    end = f"{record['error_type']}: {record['message']}" if record["message"] else record["error_type"]
    return "\n".join([*lines, end]) + "\n"


def kind_of(record: Record) -> str:
    """What there is to recognize the failure by."""
    if record["outcome"] == Outcome.RAISE:
        return "raised inside torch"
    if record["outcome"] == Outcome.WRONG:
        return (
            "wrong result, in the check's own words" if own_words(record["message"]) else "wrong result, assert_close"
        )
    return str(record["outcome"])


def texts_of(records: Iterable[Record], known: KnownBugs) -> list[Text]:
    """Every distinct failure of the journal that is a documented bug."""
    found = {}
    for record in records:
        if known.signatures.documented(record) is not None:
            text = Text(record["case"], kind_of(record), text_of(record))
            found[text] = None
    return list(found)


def first_matches(known: KnownBugs, text: str) -> list[Match]:
    return [match for one in known.recognize(text) for match in one.matches]


class Tally:
    """Counts of one kind of failure."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def add(self, known: KnownBugs, text: Text) -> None:
        matches = first_matches(known, text.text)
        group = known.signatures.bugs[text.case].group if text.case else ""
        same = {id_ for id_, bug in known.signatures.bugs.items() if bug.group == group}
        said = [match for match in matches if match.kind == IDENTITY]
        right = [match for match in said if match.case.id in same]
        self.counts["all"] += 1
        self.counts["known"] += bool(right)
        self.counts["first"] += bool(matches) and matches[0].case.id in same
        self.counts["listed"] += any(match.case.id in same for match in matches)
        others = sorted({match.case.id for match in said} - same)
        is_wrong = bool(others) and not right
        self.counts["wrong"] += is_wrong
        self.counts["several"] += bool(others) and bool(right)
        if is_wrong:
            self.wrong.append(f"{text.case or 'other'}: called {', '.join(others)}")


def tally(pairs: Iterable[tuple[KnownBugs, Text]]) -> dict[str, Tally]:
    found: dict[str, Tally] = {}
    for known, text in pairs:
        found.setdefault(text.kind, Tally()).add(known, text)
    return found


def show(title: str, tallies: dict[str, Tally]) -> None:
    print(f"\n{title}\n")
    print("| failures | texts | known | its case first | its case listed | known as another only |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind, one in sorted(tallies.items()):
        counts = one.counts
        part = f"{counts['known']} ({counts['known'] / counts['all']:.0%})"
        print(f"| {kind} | {counts['all']} | {part} | {counts['first']} | {counts['listed']} | {counts['wrong']} |")
    for one in tallies.values():
        for words in sorted(set(one.wrong)):
            talk(f"wrong: {words}")


def left_out(
    records: Sequence[Record], cases: Sequence, whole: KnownBugs, every: int
) -> Iterator[tuple[KnownBugs, Text]]:
    """Failures of each release, with the journal of all the others."""
    for release in sorted({public_or_empty(record["torch"]) for record in records}):
        known = KnownBugs(
            Signatures(cases, (record for record in records if public_or_empty(record["torch"]) != release))
        )
        ours = [record for record in records if public_or_empty(record["torch"]) == release]
        for text in texts_of(ours, whole)[::every]:
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
    parser.add_argument("--every", type=int, default=1, help="take every Nth failure only")
    parser.add_argument("--whole", action="store_true", help="only by the whole journal, no release left out")
    options = parser.parse_args()
    cases = load_cases([options.cases], talk)
    records = list(read_journal(journal_files(options.results / "journal", talk), talk))
    known = KnownBugs(Signatures(cases, records))
    texts = texts_of(records, known)[:: options.every]
    began = time.perf_counter()
    show("Every distinct failure of the journal, by the whole journal", tally((known, text) for text in texts))
    talk(f"{(time.perf_counter() - began) / max(1, len(texts)) * 1000:.1f} ms for each text")
    if not options.whole:
        pairs = left_out(records, cases, known, options.every)
        show("Failures of each release, by the journal of the others", tally(pairs))
    for folder in options.texts:
        show(
            f"Outputs of known bugs, {folder.name}",
            tally((known, t) for t in files(folder, folder.name, is_known=True)),
        )
    for folder in options.others:
        show(f"Other failures, {folder.name}", tally((known, t) for t in files(folder, folder.name, is_known=False)))


if __name__ == "__main__":
    main()
