"""A program on two releases: what is called a change, what breaks, and what cannot be said."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

import pytest
from pt2bugs.case.observation import Observation
from pt2bugs.case.vocabulary import Outcome
from pt2bugs.commands.upgrade import as_dict, lines
from pt2bugs.report.upgrade import as_markdown, as_page, spans_of
from pt2bugs.upgrade.exposure import Exposed, Exposure
from pt2bugs.upgrade.move import CAVEAT, LISTS, TITLES, Entry, Move, Replayed, Side, not_covered, notes_of, prevented
from pt2bugs.upgrade.recorded import Recorded


def ran(
    outcome: Outcome = Outcome.PASS, message: str = "", stdout: str = "", error: str = "", **counts: Any
) -> Recorded:
    error = error or ("RuntimeError" if outcome is Outcome.RAISE else "")
    seen = Observation(outcome, error, message, **{"graphs": 1, "breaks": 0, "kernels": 2, **counts})
    return Recorded(seen, stdout=stdout)


def side(release: str, *runs: Recorded, **further: Any) -> Side:
    return Side(release, list(runs if len(runs) != 1 else runs * 2), **further)


def answer(before: Side, after: Side) -> dict[str, list[str]]:
    move = Move.of(before, after, lambda text, release: ("pytorch_1", "wait") if "known" in text else (None, ""))
    return {name: [str(entry) for entry in getattr(move, name)] for name in LISTS}


GOOD = ran()
BAD = ran(Outcome.RAISE, "it broke")
LEFT = ran(Outcome.CRASH, "left with status 0", exit_status=0)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ((GOOD,), (BAD,), {"breaks_for_you": ["fails on torch 2.91.0: raise RuntimeError: it broke"]}),
        ((BAD,), (GOOD,), {"fixed_for_you": ["fails on torch 2.90.0: raise RuntimeError: it broke"]}),
        ((LEFT,), (BAD,), {"breaks_for_you": ["fails on torch 2.91.0: raise RuntimeError: it broke"]}),
        ((BAD,), (LEFT,), {"fixed_for_you": ["fails on torch 2.90.0: raise RuntimeError: it broke"]}),
        (
            (BAD,),
            (BAD,),
            {"not_known": ["fails on both alike, and was compared up to there: raise RuntimeError: it broke"]},
        ),
        (
            (GOOD,),
            (GOOD, BAD),
            {"not_known": ["torch 2.91.0: ends otherwise from run to run: pass and raise RuntimeError: it broke"]},
        ),
        ((ran(Outcome.SKIP, "not here"),), (ran(Outcome.SKIP, "not here"),), {}),
        (
            (GOOD,),
            (ran(Outcome.SKIP, "not here"),),
            {"changes_for_you": ["ends otherwise: skip: not here (before: pass)"]},
        ),
        ((ran(stdout="loss 0.5"),), (ran(stdout="loss 0.50001"),), {}),
        (
            (ran(stdout="loss 0.5"),),
            (ran(stdout="loss 0.7"),),
            {"changes_for_you": ["prints another text: 'loss 0.7' (before: 'loss 0.5')"]},
        ),
        (
            (ran(stdout="[Gloo] Rank 0\nloss 0.5"),),
            (ran(stdout="loss 0.50001\n"),),
            {"changes_for_you": ["no longer prints '[Gloo] Rank 0'"]},
        ),
        (
            (ran(stdout="loss 0.5"),),
            (ran(stdout="begin\nloss 0.5\nend\n"),),
            {"changes_for_you": ["prints 'begin', and 1 more line"]},
        ),
        ((ran(stdout="loss 0.5\n"),), (ran(stdout="loss 0.5"),), {}),
        (
            (ran(stdout="loss 0.5"), ran(stdout="loss 0.6")),
            (ran(stdout="loss 0.7"),),
            {"not_known": ["prints another text from run to run, so that it was not compared"]},
        ),
        ((ran(kernels=3),), (ran(kernels=2),), {"changes_for_you": ["2 kernels (before: 3)"]}),
        ((ran(kernels=3), ran(kernels=2)), (ran(kernels=2),), {}),
        ((ran(peak_rss_mb=900.0),), (ran(peak_rss_mb=950.0),), {}),
        (
            (ran(peak_rss_mb=900.0),),
            (ran(peak_rss_mb=1300.25),),
            {"changes_for_you": ["1300 MB of peak memory (before: 900)"]},
        ),
    ],
)
def test_the_program_as_it_is(before: tuple[Recorded], after: tuple[Recorded], told: dict[str, list[str]]) -> None:
    lists = answer(side("2.90.0", *before), side("2.91.0", *after))
    assert {name: entries for name, entries in lists.items() if entries} == told


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (ran(Outcome.TIMEOUT), "was stopped when its time was up (--minutes)"),
        (ran(Outcome.RAISE, "Found no NVIDIA driver on your system"), "needs a GPU"),
        (ran(Outcome.RAISE, "EOF when reading a line", error="EOFError"), "asks for input"),
        (ran(Outcome.RAISE, "No module named 'timm'", error="ModuleNotFoundError"), "install it with --with"),
        (ran(graphs=0), "compiled nothing"),
    ],
)
def test_odd_programs_get_one_sentence(run: Recorded, sentence: str) -> None:
    notes = list(notes_of(run))
    lists = answer(side("2.90.0", run, notes=notes), side("2.91.0", run, notes=notes))
    (line,) = lists["not_known"]
    assert line.startswith("torch 2.90.0 and 2.91.0: the program ")
    assert sentence in line
    assert not lists["breaks_for_you"]


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (ran(Outcome.ERROR, "torch cannot be imported"), "could not be run"),
        (ran(Outcome.RAISE, "operator torchvision::nms does not exist"), "install both from one index"),
        (ran(Outcome.RAISE, "operator aten::lost does not exist"), ""),
        (ran(Outcome.RAISE, "operator does not exist"), ""),
        (GOOD, ""),
    ],
)
def test_a_run_that_its_environment_prevented(run: Recorded, why: str) -> None:
    """A package whose library was not loaded says nothing of the release; an operator that torch lost does."""
    assert why in prevented(run)
    assert bool(why) is bool(prevented(run))


def test_a_program_that_is_stopped_is_no_hang_if_it_was_slow_before() -> None:
    """What ran for nine of ten minutes may well take eleven on a busy machine."""
    stopped, slow, fast = (
        replace(ran(outcome), seconds=seconds)
        for outcome, seconds in ((Outcome.TIMEOUT, 600.0), (Outcome.PASS, 540.0), (Outcome.PASS, 20.0))
    )
    notes = list(notes_of(stopped))
    lists = answer(side("2.90.0", slow), side("2.91.0", stopped, notes=notes))
    assert {name: len(entries) for name, entries in lists.items()} == {**dict.fromkeys(LISTS, 0), "not_known": 1}
    (line,) = answer(side("2.90.0", fast), side("2.91.0", stopped, notes=notes))["breaks_for_you"]
    assert line.startswith("fails on torch 2.91.0: timeout")


def test_between_releases_messages_are_rewritten() -> None:
    """One release names the failure in other words than the next: only another exception is another failure."""
    old, new = ran(Outcome.RAISE, "it broke"), ran(Outcome.RAISE, "it has broken in step 3")
    assert not answer(side("2.90.0", old), side("2.91.0", new))["changes_for_you"]
    other = ran(Outcome.RAISE, "it broke", error="ValueError")
    assert answer(side("2.90.0", old), side("2.91.0", other))["changes_for_you"] == [
        "fails otherwise: raise ValueError: it broke (before: raise RuntimeError: it broke)"
    ]
    (line,) = answer(side("2.90.0", old, new), side("2.91.0", old))["not_known"]
    assert "ends otherwise from run to run" in line, "on one release the message counts"


def replays(*differences: tuple[str, str, float | None], problem: str = "") -> dict[str, Any]:
    told = {"g": Replayed("g", differences, 2.0, 1.0, problem)}
    return {"replays": [told, told], "graphs": {"g": {"place": "train.py:3 forward"}}}


WRONG = ("output 0", "values", 0.5)


def test_graphs_that_differ_from_eager() -> None:
    fine, wrong = side("2.90.0", GOOD, **replays()), side("2.91.0", GOOD, **replays(WRONG))
    line = "train.py:3 forward: compiled, its graph differs from eager: output 0: other values than eager by up to 0.5"
    assert answer(fine, wrong)["breaks_for_you"] == [line]
    assert answer(wrong, fine)["fixed_for_you"] == [line.replace("differs", "differed")]
    assert answer(wrong, wrong)["not_known"] == [line.replace("eager:", "eager on both:")]
    unsure = side("2.91.0", GOOD, **replays(WRONG))
    unsure.replays[0] = fine.replays[0]
    assert not any(answer(fine, unsure).values()), "what not every process shows is no change"
    gone = side("2.91.0", GOOD, **replays(problem="it is not there"))
    assert answer(fine, gone)["not_known"] == [
        "train.py:3 forward: its graph was not replayed on torch 2.91.0: it is not there"
    ]
    assert fine.speedup == 2.0


def test_a_failure_of_a_replay_goes_through_match() -> None:
    raises = ("call", "the compiled graph raises InductorError: known, eager does not", None)
    fine, fails = side("2.90.0", GOOD, **replays()), side("2.91.0", GOOD, **replays(raises))
    (line,) = answer(fine, fails)["breaks_for_you"]
    assert line.endswith("the compiled graph raises InductorError: known, eager does not [pytorch_1] (wait)")


def test_bugs_that_are_asked_elsewhere_are_one_line() -> None:
    elsewhere = [Exposed(f"pytorch_{n}", "unknown", "", "ask torch 2.89.0", ("a.py: f",)) for n in (7, 8)]
    alone = Exposed("pytorch_9", "unknown", "", "with the fix it fails", ("b.py: g",))
    before = side("2.90.0", GOOD, exposure=Exposure("2.90.0", [], [*elsewhere, alone]))
    assert answer(before, side("2.91.0", GOOD))["not_known"] == [
        "whether 2 documented bugs concern it: ask torch 2.89.0 (pytorch_7, pytorch_8)",
        "whether pytorch_9 concerns it: with the fix it fails",
    ]


def test_the_page_has_the_graph_breaks_with_their_places() -> None:
    broken = replace(ran(breaks=1), breaks=(("print is called", "/home/me/train.py", 7),))
    before, after = side("2.90.0", broken), side("2.91.0", broken)
    told = as_dict([before, after], [Move.of(before, after, lambda *_: (None, ""))])
    line = "graph break at train.py:7 on torch 2.90.0, 2.91.0: print is called"
    for text in (as_markdown("train.py", told, TITLES, CAVEAT), as_page("train.py", told, TITLES, CAVEAT)):
        assert text.count(line) == 1
        assert "/home/me" not in text


def test_what_stands_between_backticks_is_code() -> None:
    entry = Entry("isolated elsewhere: `pt2bugs exposure my_*.py` asks there, `torch.f` not", case="row")
    told = as_dict([side("2.90.0", GOOD)], [Move(side("2.90.0", GOOD), side("2.91.0", GOOD), not_known=[entry])])
    assert (
        "- isolated elsewhere: `pt2bugs exposure my_*.py` asks there, `torch.f` not (`row`)"
        in as_markdown("train.py", told, TITLES, CAVEAT).splitlines()
    )
    assert "elsewhere: <code>pt2bugs exposure my_*.py</code> asks there, <code>torch.f</code> not" in as_page(
        "train.py", told, TITLES, CAVEAT
    )
    assert spans_of("one `is left over") == ["one `is left over"]


def test_counts_of_a_program_that_fails_on_one_release_are_no_changes() -> None:
    failing = ran(Outcome.RAISE, "boom", kernels=0)
    lists = answer(side("2.90.0", ran(kernels=3)), side("2.91.0", failing))
    assert (len(lists["breaks_for_you"]), lists["changes_for_you"]) == (1, [])
    alike = answer(side("2.90.0", ran(Outcome.RAISE, "boom", kernels=3)), side("2.91.0", failing))
    assert alike["changes_for_you"] == ["0 kernels (before: 3)"]


def test_what_was_not_covered() -> None:
    assert not_covered([side("2.90.0", GOOD)]) == "Not covered: GPUs, branches that were not taken."
    unfixed = Exposure("2.90.0", [], [Exposed("pytorch_5", "unknown", "", "no fix is isolated")])
    on_gpu = replace(GOOD, device_mb=12.0)
    assert not_covered([side("2.90.0", on_gpu, exposure=unfixed), side("2.91.0", GOOD)]) == (
        "Not covered: branches that were not taken, 1 documented bugs of torch 2.90.0 that no fix is isolated for."
    )


@pytest.mark.parametrize("many", [1, 30])
def test_an_answer_fits_a_screen(many: int) -> None:
    """Of each list at least the first line is there; the others are counted."""
    long = (
        "compiled, its graph differs from eager, and so much is to be said of this that no row of a screen takes it: "
    )
    entries = [Entry(f"{long * 2}{number}") for number in range(many)]
    move = Move(side("2.90.0", GOOD), side("2.91.0", GOOD), entries, entries, entries, entries)
    shown = [textwrap.fill(line, 80, subsequent_indent="    ") for line in lines("train.py", [move.before], [move])]
    assert len("\n".join(shown).splitlines()) <= 23, "\n".join(shown)
    assert sum("so much" in line for line in shown) >= 4
    assert ("and 29 more (-o DIR, --json)" in "\n".join(shown)) is (many == 30)


def test_a_speed_that_varies_is_no_change() -> None:
    def at(*seconds: float) -> list[dict[str, Replayed]]:
        return [{"g": Replayed("g", (), 1.0, compiled_s)} for compiled_s in seconds]

    before = side("2.90.0", GOOD, replays=at(0.5, 0.5, 0.9))
    assert not any(answer(before, side("2.91.0", GOOD, replays=at(0.8, 1.0, 1.1))).values())
    assert answer(before, side("2.91.0", GOOD, replays=at(1.0, 1.0, 1.1)))["changes_for_you"] == [
        "compiled code is 1 times as fast as eager (before: 2)"
    ]


def test_documented_bugs_and_the_order_of_lines() -> None:
    known = ran(Outcome.RAISE, "known")
    fixed = [Exposed("pytorch_2", "bites", "train.py:3 f", "strides differ", ("a.py: f",), "fixed")]
    introduced = [
        Exposed("pytorch_3", "bites", "", "values differ", ("b.py: g",), "introduced"),
        Exposed("pytorch_4", "differs", "", "other guards", ("b.py: g",), "introduced"),
        Exposed("pytorch_5", "unknown", "", "no fix is isolated"),
    ]
    before = side("2.90.0", GOOD, exposure=Exposure("2.90.0", [], fixed))
    after = side("2.91.0", known, exposure=Exposure("2.91.0", [], introduced))
    lists = answer(before, after)
    assert lists["breaks_for_you"] == [
        "values differ [pytorch_3]",
        "fails on torch 2.91.0: raise RuntimeError: known [pytorch_1] (wait)",
    ], "wrong results come first"
    assert lists["fixed_for_you"] == ["train.py:3 f: strides differ [pytorch_2]"]
    assert lists["changes_for_you"] == ["other guards [pytorch_4]"]
    assert not lists["not_known"], "a bug without a fix is no risk"
