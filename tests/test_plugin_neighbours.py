"""The pytest plugin beside others: pytest-xdist, `--forked`, ordinary tests, timers, a report in JUnit XML."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from suite import Suite, compiles, parent_of, wait_until


class TestNeighbours:
    """Other plugins, ordinary tests, other ways to run."""

    def corpus(self, suite: Suite) -> None:
        for name in "abcd":
            suite.case(name, compiles("f"))
        suite.case("crashes", "import os\ndef test_a(): os.abort()", bugs=[{"outcome": "crash"}])
        suite.case("spawned", compiles("f"), isolation="spawn")
        (suite.cases / "test_ordinary.py").write_text(
            "import os, pytest\n"
            "def test_passes(tmp_path): assert tmp_path.exists()\n"
            "@pytest.mark.parametrize('n', [1, 2])\ndef test_many(n): assert n\n"
            "def test_pid(): assert os.environ.setdefault('SEEN', str(os.getpid()))\n"
        )

    CELLS = dict.fromkeys((f"{name}::test_a" for name in ("a", "b", "c", "d", "spawned")), "pass")

    @pytest.mark.parametrize(
        "options", [[], ["-n", "2"], ["--forked"], ["-p", "no:forked"], ["-s"], ["-v"]], ids=" ".join
    )
    def test_every_cell_once(self, suite: Suite, options: list[str]) -> None:
        self.corpus(suite)
        done = suite.run(*options)
        assert done.status == 0, done.output
        assert len(done.records) == 6
        assert done.verdicts() == {**self.CELLS, "crashes::test_a": "xfail"}
        assert "9 passed, 1 xfailed" in done.output
        assert suite.survivors() == []

    def test_without_the_timer_of_pytest_timeout(self, suite: Suite) -> None:
        suite.case("hangs", "def test_a():\n    while True: pass", timeout=0.2)
        done = suite.run("-p", "no:timeout")
        assert done.record("hangs")["outcome"] == "timeout"
        assert done.record("hangs")["message"] == "still running after its timeout of 0.2 s"
        assert "in test_a" in done.record("hangs")["output_tail"]

    def test_timeout_on_the_command_line_caps_cells_as_it_caps_tests(self, suite: Suite) -> None:
        suite.case("slow", "import time\ndef test_a(): time.sleep(0.5)", compiles=False)
        (record,) = suite.run("--timeout", "0.1").records
        assert record["outcome"] == "timeout"
        assert record["message"] == "still running after its timeout of 0.1 s"
        suite.journal.unlink()
        assert suite.run("--timeout", "60").verdicts() == {"slow::test_a": "pass"}

    def test_stops_at_the_first_failure_if_asked(self, suite: Suite) -> None:
        suite.case("a", "def test_a(): assert False")
        suite.case("b", compiles("f"))
        assert suite.run("-x").verdicts() == {"a::test_a": "fail"}

    def test_warnings_as_errors(self, suite: Suite) -> None:
        suite.case("a", compiles("f"))
        assert suite.run("-W", "error", "-n", "1").verdicts() == {"a::test_a": "pass"}

    def test_worker_that_is_killed(self, suite: Suite) -> None:
        """pytest-xdist starts another one; the other cells are run."""
        body = """
        import os, time
        from pathlib import Path
        def test_a():
            mark = Path(os.environ["SUITE_FOLDER"], "mark")
            if not mark.exists():
                mark.touch()
                time.sleep(3600)
        """
        suite.case("a", body, compiles=False)
        for name in "bcd":
            suite.case(name, compiles("f"))
        process = suite.start("-n", "2", SUITE_FOLDER=str(suite.folder), PT2BUGS_WRITE=str(suite.folder))
        wait_until((suite.folder / "mark").exists)

        workers: set[int] = set()

        def is_alone() -> bool:
            workers.clear()
            workers.update(_ancestor(pid, process.pid) for pid in suite.processes() if _is_cell(pid))
            return len(workers) == 1

        # The other worker has its cells, but not for long.
        wait_until(is_alone)
        os.kill(workers.pop(), signal.SIGKILL)
        done = suite.finish(process)
        assert {f"{name}::test_a": "pass" for name in "bcd"}.items() <= done.verdicts().items()
        wait_until(lambda: not suite.survivors(), 20)

    def test_junit_report(self, suite: Suite) -> None:
        suite.case("a", compiles("f"))
        done = suite.run("--junitxml", str(suite.folder / "junit.xml"))
        assert done.status == 0
        assert 'name="verdict" value="pass"' in (suite.folder / "junit.xml").read_text()


def _ancestor(pid: int, below: int) -> int:
    while (parent := parent_of(pid)) not in (below, 0):
        pid = parent
    return pid


def _is_cell(pid: int) -> bool:
    """Whether the process works in the folder of a cell."""
    try:
        return "/cell-" in str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return False
