"""The verdict: a wrong failure is never the documented one, a failure that is gone is said loudly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from pt2bugs.case.expectation import Where, is_available, judge, pinned
from pt2bugs.case.model import Bug, Case, Check
from pt2bugs.case.observation import Observation
from pt2bugs.case.versions import public
from pt2bugs.case.vocabulary import Outcome, Verdict

BUG = Bug(Outcome.RAISE, SpecifierSet(">=2.4,<2.10"), error="torch.X", match="two devices", line=12)
SEEN = Observation(Outcome.RAISE, "torch.X", "found two devices cpu, meta")


def case(*bugs: Bug, flaky: bool = False, requires: str = "") -> Case:
    return Case(
        id="pytorch_1",
        path=Path("cases/dynamo/pytorch_1.py"),
        issue="https://github.com/pytorch/pytorch/issues/1",
        title="t",
        component="dynamo",
        symptom="internal-error",
        checks=(Check("test_a", ("backend",), 1), Check("test_b", (), 9)),
        hash="0",
        backends=("inductor", "eager"),
        bugs=bugs,
        flaky=flaky,
        requires_torch=SpecifierSet(requires),
    )


def verdict(
    the_case: Case, seen: Observation, torch: str = "2.9.1", check: str = "test_a", backend: str = "inductor"
) -> Verdict:
    return judge(the_case, check, Where(torch, "3.11.7", "cpu", backend), seen).verdict


def test_the_documented_failure() -> None:
    assert verdict(case(BUG), SEEN) is Verdict.XFAIL


@pytest.mark.parametrize(
    "seen",
    [
        Observation(Outcome.RAISE, "torch.Y", SEEN.message),
        Observation(Outcome.RAISE, "torch.X", "something else"),
        Observation(Outcome.WRONG, "torch.X", SEEN.message),
        Observation(Outcome.CRASH, signal="SIGSEGV"),
        Observation(Outcome.TIMEOUT),
        Observation(Outcome.OOM),
    ],
)
def test_another_failure_is_not_the_documented_one(seen: Observation) -> None:
    judgement = judge(case(BUG), "test_a", Where("2.9.1", "3.11", "cpu", "inductor"), seen)
    assert judgement.verdict is Verdict.FAIL
    assert "torch.X matching 'two devices' (pytorch_1.py:12)" in judgement.reason
    assert seen.summary in judgement.reason


def test_a_failure_outside_every_entry() -> None:
    assert verdict(case(BUG), SEEN, torch="2.10.0") is Verdict.FAIL
    assert verdict(case(), SEEN) is Verdict.FAIL
    assert verdict(case(), Observation(Outcome.PASS)) is Verdict.PASS


def test_a_failure_that_is_gone() -> None:
    judgement = judge(case(BUG), "test_a", Where("2.9.1", "3.11", "cpu", "inductor"), Observation(Outcome.PASS))
    assert judgement.verdict is Verdict.XPASS
    for text in ("expected: raise torch.X", "seen:     pass", "torch 2.9.1", "pytorch_1.py:12", "#1 no longer"):
        assert text in judgement.reason


def test_signals_are_told_apart() -> None:
    bug = Bug(Outcome.CRASH, signal="SIGFPE")
    assert verdict(case(bug), Observation(Outcome.CRASH, signal="SIGFPE")) is Verdict.XFAIL
    assert verdict(case(bug), Observation(Outcome.CRASH, signal="SIGSEGV")) is Verdict.FAIL


def test_the_first_entry_that_applies_wins() -> None:
    blocked = Bug(Outcome.RAISE, SpecifierSet("<2.5"), error="torch.Old", blocked=True)
    both = case(blocked, BUG)
    assert verdict(both, Observation(Outcome.RAISE, "torch.Old"), torch="2.4.1") is Verdict.SKIP
    assert verdict(both, SEEN, torch="2.4.1") is Verdict.FAIL
    assert verdict(both, SEEN, torch="2.5.0") is Verdict.XFAIL
    assert verdict(both, Observation(Outcome.PASS), torch="2.4.1") is Verdict.XPASS


def test_entries_for_one_check_or_backend() -> None:
    of_two = case(Bug(Outcome.RAISE, check="test_b"), Bug(Outcome.RAISE, backend="eager"))
    assert verdict(of_two, SEEN, check="test_b") is Verdict.XFAIL
    assert verdict(of_two, SEEN) is Verdict.FAIL
    assert verdict(of_two, SEEN, backend="eager") is Verdict.XFAIL


def test_a_backend_that_the_header_does_not_name() -> None:
    assert verdict(case(BUG), Observation(Outcome.PASS), backend="vendor") is Verdict.PASS
    assert verdict(case(BUG), SEEN, backend="vendor") is Verdict.XFAIL
    assert verdict(case(BUG), Observation(Outcome.CRASH), backend="vendor") is Verdict.FAIL


@pytest.mark.parametrize("entry", [{"device": "cpu"}, {}, {"device": "meta"}])
def test_a_device_that_no_entry_covers(entry: dict[str, str]) -> None:
    """An accelerator that was never measured: the bug may be there as on the CPU, be absent, or look otherwise."""
    the_case = replace(case(replace(BUG, **entry)), devices=("cpu", "meta", "cuda"))  # type: ignore[arg-type]

    def on(device: str, seen: Observation, torch: str = "2.9.1") -> Verdict:
        return judge(the_case, "test_a", Where(torch, "3.11.7", device, "inductor"), seen).verdict

    assert on("cuda", Observation(Outcome.PASS)) is Verdict.PASS
    assert on("cuda", SEEN) is Verdict.XFAIL
    assert on("cuda", Observation(Outcome.RAISE, "torch.X", "something else")) is Verdict.FAIL
    assert on("cuda", SEEN, torch="2.10.0") is Verdict.FAIL
    covered_on_cpu = entry.get("device") in (None, "cpu")
    assert on("cpu", Observation(Outcome.PASS)) is (Verdict.XPASS if covered_on_cpu else Verdict.PASS)


def test_a_case_that_is_not_for_the_cpu() -> None:
    """Its entries speak of its own device."""
    the_case = replace(case(BUG), devices=("cuda",))
    where = Where("2.9.1", "3.11.7", "cuda", "inductor")
    assert judge(the_case, "test_a", where, Observation(Outcome.PASS)).verdict is Verdict.XPASS
    assert judge(the_case, "test_a", where, SEEN).verdict is Verdict.XFAIL


def test_a_device_that_some_entry_covers_is_judged_by_it() -> None:
    """An entry of its own says how the bug looks there: that of the CPU is another failure."""
    own = Bug(Outcome.CRASH, device="cuda", signal="SIGSEGV")
    the_case = replace(case(own, replace(BUG, device="cpu")), devices=("cpu", "cuda"))
    where = Where("2.9.1", "3.11.7", "cuda", "inductor")
    assert judge(the_case, "test_a", where, SEEN).verdict is Verdict.FAIL
    assert judge(the_case, "test_a", where, Observation(Outcome.CRASH, signal="SIGSEGV")).verdict is Verdict.XFAIL


def test_a_case_that_says_it_is_flaky() -> None:
    assert verdict(case(BUG, flaky=True), Observation(Outcome.PASS)) is Verdict.FLAKY
    assert verdict(case(BUG, flaky=True), SEEN) is Verdict.XFAIL


def test_skip_and_error_pass_through() -> None:
    assert verdict(case(BUG), Observation(Outcome.SKIP)) is Verdict.SKIP
    assert verdict(case(BUG), Observation(Outcome.ERROR)) is Verdict.ERROR


@pytest.mark.parametrize(
    ("specifiers", "torch", "expected"),
    [
        (">=2.4", "2.4.0", True),
        (">=2.4", "2.4.0.dev20260101", False),
        ("<2.10", "2.9.0rc1", True),
        (">=2.9", "2.10.0.dev20260101", True),
        ("", "2.0.1", True),
    ],
)
def test_prereleases_are_releases(specifiers: str, torch: str, expected: bool) -> None:
    assert is_available(case(requires=specifiers), torch) is expected


def test_the_local_part_of_a_version_does_not_count() -> None:
    assert public("2.13.0+cu130") == "2.13.0"


@pytest.mark.parametrize(
    ("extras", "expected"),
    [
        ((), Verdict.XFAIL),  # of unknown version
        (("numpy==1.26.4",), Verdict.XFAIL),
        (("numpy==2.1",), Verdict.FAIL),
        (("NumPy==2.1", "turbine"), Verdict.FAIL),
        (("numpy>=2",), Verdict.XFAIL),
        (("scipy==1.0",), Verdict.XFAIL),
        (("numpy==any",), Verdict.XFAIL),
    ],
)
def test_an_entry_may_ask_for_versions_of_packages(extras: Sequence[str], expected: Verdict) -> None:
    the_case = case(replace(BUG, packages={"numpy": SpecifierSet("<2")}))
    where = Where("2.9.1", "3.11.7", "cpu", "inductor", packages=pinned(extras))
    assert judge(the_case, "test_a", where, SEEN).verdict is expected
