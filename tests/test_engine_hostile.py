"""Hostile checks through the real plugin: each is classified right and leaves nothing behind.

Every hostile case file has a second check, `test_next`, that runs right after in a child of its own and
looks for anything the first one changed. The corpus runs once with a PID namespace and once without.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hostile import MODES, SECRETS, Hostile, write_hostile
from hostile_checks import HOSTILE
from pt2bugs.case.observation import FRAME_LIMIT, MESSAGE_LIMIT, OUTPUT_LIMIT
from pt2bugs.engine.sandbox import unconfined_without_namespaces
from pt2bugs.results.journal import KEYS
from suite import Done, Suite


@dataclass
class Run:
    mode: str
    suite: Suite
    done: Done
    left: set[Path]
    survivors: list[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    """The hostile corpus, run in both modes at once."""
    started = {}
    for mode, env in MODES.items():
        suite = Suite(tmp_path_factory.mktemp(mode))
        for hostile in HOSTILE:
            write_hostile(suite, hostile)
        suite.case("unimportable", "import no_such_module\ndef test_hostile(): pass\n")
        suite.case("crashes_at_import", "import os\nos.abort()\ndef test_hostile(): pass\n")
        before = set(suite.folder.iterdir())
        started[mode] = (suite, before, suite.start(**env, **SECRETS))
    by_mode = {}
    for mode, (suite, before, process) in started.items():
        done = suite.finish(process)
        left = set(suite.folder.iterdir()) - before - {suite.journal}
        by_mode[mode] = Run(mode, suite, done, left, suite.survivors())
    yield by_mode


@pytest.fixture(params=MODES)
def run(request: pytest.FixtureRequest, runs: dict[str, Run]) -> Run:
    return runs[request.param]


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
class TestHostileCheck:
    def test_is_classified_right(self, hostile: Hostile, run: Run) -> None:
        record = run.done.record(hostile.name, "test_hostile")
        expected = {**hostile.seen, **(hostile.fallback if run.mode == "fallback" else {})}
        if hostile.fallback and run.mode == "fallback":
            expected = hostile.fallback
        assert {key: record[key] for key in expected} == expected, record

    def test_changes_nothing_for_the_next_cell(self, hostile: Hostile, run: Run) -> None:
        record = run.done.record(hostile.name, "test_next")
        expected = "error" if hostile.settings.get("compiles") else "pass"
        assert record["outcome"] == expected, (record["message"], record["output_tail"])

    def test_has_a_readable_journal_line(self, hostile: Hostile, run: Run) -> None:
        record = run.done.record(hostile.name, "test_hostile")
        assert tuple(key for key in record if key not in ("frames", "outside", "unconfined")) == KEYS
        assert record.get("unconfined") == (unconfined_without_namespaces() if run.mode == "fallback" else None)
        assert len(record["message"]) < MESSAGE_LIMIT + 100
        assert len(record["output_tail"]) < OUTPUT_LIMIT * 8
        frames = [record["frame"], *record.get("frames", [])]
        assert all(len(frame) < FRAME_LIMIT + 100 and "\n" not in frame for frame in frames)
        for text in (record["message"], record["output_tail"], record["error_type"], *frames):
            assert all(c.isprintable() or c in "\n\t" for c in text)


def test_a_cut_leaves_no_half_path(run: Run) -> None:
    record = run.done.record("paths_wherever_it_is_cut", "test_hostile")
    message = re.sub(r"\[\.\.\. \d+ characters left out \.\.\.\]", "", record["message"])
    assert len(message) > MESSAGE_LIMIT - 100
    whole = "/".join(("<cell>", "work", "x"))
    for word in f"{message} {record['output_tail']}".split():
        assert whole.startswith(word) or whole.endswith(word), word


def test_nothing_is_left_behind(run: Run) -> None:
    assert run.survivors == []
    assert run.left == set()
    assert list(run.suite.temporary.iterdir()) == []
    assert {path.name for path in run.suite.home.iterdir()} <= {"cache"}


def test_pytest_ends_as_it_should(run: Run) -> None:
    assert run.done.status == 1
    assert "INTERNALERROR" not in run.done.output
    assert "\x1b" not in run.done.output
    assert "\0" not in run.done.output


def test_case_file_that_cannot_be_imported(run: Run) -> None:
    record = run.done.record("unimportable")
    assert (record["outcome"], record["verdict"]) == ("error", "error")
    assert "No module named 'no_such_module'" in record["message"]


def test_case_file_that_crashes_at_import(run: Run) -> None:
    record = run.done.record("crashes_at_import")
    assert (record["outcome"], record["verdict"]) == ("error", "error")
    assert record["message"] == "the check had not started: died by SIGABRT"


def test_a_timeout_shows_where(run: Run) -> None:
    for name in ("deadlock_with_the_lock", "signals_ignored", "spawn_hang"):
        assert "test_hostile" in run.done.record(name, "test_hostile")["output_tail"], name
    assert "endless_loop.py" in run.done.output


def test_deadlines_are_kept(run: Run) -> None:
    for record in run.done.records:
        if record["outcome"] == "timeout":
            assert 0.4 < record["duration_s"] < 60, record["case"]
