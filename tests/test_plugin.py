"""The pytest plugin, in real pytest processes on a fake torch: collection, verdicts, journal, repeats."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from importlib import metadata

import pytest
from fake_torch import write_torch
from pt2bugs.results.journal import KEYS
from pt2bugs.run.measurement import NOTHING_REGISTERS
from suite import Suite, compiles, wait_until

COUNTS = """
import os
from pathlib import Path

def test_a():
    count = Path(os.environ["SUITE_FOLDER"], "count")
    number = int(count.read_text()) if count.exists() else 0
    count.write_text(str(number + 1))
    {what}
"""


class TestCollection:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"tiemout": 3}, "unknown key 'tiemout' in [tool.pt2bugs]; did you mean 'timeout'?"),
            ({"symptom": "crahs"}, "unknown symptom 'crahs'; did you mean 'crash'?"),
            ({"requires_torch": "new"}, "is not a PEP 440 specifier set"),
            ({"bugs": [{"outcome": "bad"}]}, "unknown outcome 'bad'"),
            ({"bugs": [{"outcome": "raise", "backends": "x"}]}, "unknown key 'backends' in [[tool.pt2bugs.bug]]"),
        ],
    )
    def test_bad_header_stops_everything(self, suite: Suite, settings: dict[str, object], message: str) -> None:
        path = suite.case("bad", compiles("f"), **settings)  # type: ignore[arg-type]
        suite.case("good", compiles("f"))
        done = suite.run()
        assert done.status == 2
        assert message in done.output
        assert f"{path}:" in done.output
        assert "Traceback" not in done.output
        assert done.records == []

    def test_one_id_twice(self, suite: Suite) -> None:
        first = suite.case("one", compiles("f"))
        second = suite.cases / "below" / "one.py"
        second.parent.mkdir()
        shutil.copy(first, second)
        done = suite.run()
        assert done.status == 2
        assert "ids are unique" in done.output

    def test_imports_neither_torch_nor_the_cases(self, suite: Suite) -> None:
        suite.case("one", "raise SystemExit('imported')\ndef test_a(): pass")
        (suite.torch / "torch" / "__init__.py").write_text("raise SystemExit('torch imported')")
        done = suite.run("--collect-only")
        assert done.status == 0
        assert "one.py::test_a[cpu-inductor]" in done.output

    def test_a_cell_per_device_and_backend(self, suite: Suite) -> None:
        suite.case("one", "def test_a(device, backend): pass", devices=["cpu", "cuda"], backends=["eager", "inductor"])
        done = suite.run("--collect-only", "--device", "cpu", "--device", "cuda")
        for name in ("cpu-eager", "cpu-inductor", "cuda-eager", "cuda-inductor"):
            assert f"one.py::test_a[{name}]" in done.output

    @pytest.mark.parametrize(("versions", "verdict"), [("<1", "pass"), (">=1", "xpass")])
    def test_an_entry_for_versions_of_a_package_that_this_python_has(
        self, suite: Suite, versions: str, verdict: str
    ) -> None:
        suite.case("one", compiles("f"), bugs=[{"packages": {"packaging": versions}, "outcome": "raise"}])
        done = suite.run()
        assert done.verdicts() == {"one::test_a": verdict}
        assert [record["extras"] for record in done.records] == [[f"packaging=={metadata.version('packaging')}"]]

    def test_file_named_on_the_command_line(self, suite: Suite) -> None:
        path = suite.case("test_named", compiles("f"))
        done = suite.run(str(path), f"{path}::test_a[cpu-inductor]")
        assert done.verdicts() == {"test_named::test_a": "pass"}

    def test_selection(self, suite: Suite) -> None:
        suite.case("a", compiles("f"), component="dynamo", labels=["slow"])
        suite.case("b", compiles("f"), component="inductor", symptom="hang")
        for options, chosen in (
            (["--component", "inductor"], {"b"}),
            (["--symptom", "crash"], {"a"}),
            (["--label", "slow"], {"a"}),
            (["--component", "dynamo", "--symptom", "hang"], set()),
        ):
            done = suite.run("--collect-only", *options)
            assert {name for name in "ab" if f"{name}.py::" in done.output} == chosen

    def test_backend_that_no_check_runs_on(self, suite: Suite) -> None:
        suite.case("a", compiles("f"))
        done = suite.run("--backend", "nonsense")
        assert done.status == 4
        assert "--backend nonsense: no selected check runs there; headers name inductor" in done.output


BUG = {"outcome": "wrong", "match": "not equal"}


class TestVerdict:
    def test_of_every_kind(self, suite: Suite) -> None:
        write_torch(suite.torch, faults={"bad": "wrong", "odd": "raise", "dead": "abort"})
        suite.case("passes", compiles("good"))
        suite.case("fails_as_documented", compiles("bad"), bugs=[BUG])
        suite.case("crashes_as_documented", compiles("dead"), bugs=[{"outcome": "crash", "signal": "SIGABRT"}])
        suite.case("fails_otherwise", compiles("odd"), bugs=[BUG])
        suite.case("crashes_otherwise", compiles("dead"), bugs=[{"outcome": "crash", "signal": "SIGSEGV"}])
        suite.case("is_fixed", compiles("good"), bugs=[BUG])
        suite.case("is_new", compiles("bad"))
        suite.case("is_blocked", compiles("odd"), bugs=[{"outcome": "raise", "blocked": True}])
        suite.case("is_too_new", compiles("good"), requires_torch=">=99")
        suite.case("is_elsewhere", compiles("good").replace("()", "(device)", 1), devices=["cuda"])
        suite.case("needs_more", compiles("good"), extra="turbine")
        suite.case("skips", "import unittest\ndef test_a(): raise unittest.SkipTest('no such API')")
        done = suite.run()
        assert {name.partition("::")[0]: verdict for name, verdict in done.verdicts().items()} == {
            "passes": "pass",
            "fails_as_documented": "xfail",
            "crashes_as_documented": "xfail",
            "fails_otherwise": "fail",
            "crashes_otherwise": "fail",
            "is_fixed": "xpass",
            "is_new": "fail",
            "is_blocked": "skip",
            "is_too_new": "skip",
            "is_elsewhere": "skip",
            "needs_more": "skip",
            "skips": "skip",
        }
        assert done.status == 1
        assert "12 cells: 1 pass, 2 xfail, 1 xpass, 3 fail, 5 skip" in done.output
        assert "1 passed, 5 skipped, 2 xfailed" in done.output

    def test_success_is_what_was_expected(self, suite: Suite) -> None:
        write_torch(suite.torch, faults={"bad": "wrong"})
        suite.case("passes", compiles("good"))
        suite.case("fails_as_documented", compiles("bad"), bugs=[BUG])
        assert suite.run().status == 0


class TestJournal:
    def test_says_what_was_run(self, suite: Suite) -> None:
        write_torch(suite.torch, "2.91.0+cpu")
        suite.case("a", compiles("f"))
        (record,) = suite.run("--run-id", "mine").records
        assert tuple(record) == KEYS
        assert (record["run_id"], record["torch"], record["outcome"]) == ("mine", "2.91.0+cpu", "pass")
        assert record["python"] == ".".join(map(str, sys.version_info[:3]))
        assert record["graphs"] == 1
        assert record["exit_status"] == 0
        assert record["peak_rss_mb"] > 1

    def test_is_written_only_when_asked_for(self, suite: Suite) -> None:
        suite.case("a", compiles("f"))
        before = set(suite.folder.rglob("*")) - set(suite.home.rglob("*"))
        done = subprocess.run(
            suite.command(journal=False), cwd=suite.folder, env=suite.environ(), check=False, capture_output=True
        )
        after = set(suite.folder.rglob("*")) - set(suite.home.rglob("*"))
        assert done.returncode == 0
        assert {path for path in after - before if "__pycache__" not in path.parts} == set()

    @pytest.mark.parametrize("isolation", ["fork", "spawn"])
    def test_nothing_is_written_beside_the_cases(self, suite: Suite, isolation: str) -> None:
        path = suite.case("a", compiles("f"), isolation=isolation)
        assert suite.run().status == 0
        assert list(suite.cases.rglob("*")) == [path]

    def test_that_cannot_be_opened(self, suite: Suite) -> None:
        suite.case("a", compiles("f"))
        done = suite.run("--journal", str(suite.cases))
        assert done.status == 4
        assert f"--journal {suite.cases}: cannot be written: Is a directory" in done.output
        assert "Traceback" not in done.output

    @pytest.mark.parametrize("workers", [[], ["-n", "2"]])
    def test_that_cannot_be_written(self, suite: Suite, workers: list[str]) -> None:
        """The run ends at the first line that is lost, and says so."""
        for name in "abc":
            suite.case(name, compiles("f"))
        done = suite.run("--journal", "/dev/full", *workers)
        assert done.status == 2, done.output
        assert "/dev/full: cannot be written: No space left on device" in done.output
        assert "Traceback" not in done.output
        assert "INTERNALERROR" not in done.output

    def test_two_runs_at_once(self, suite: Suite) -> None:
        for name in "abcde":
            suite.case(name, compiles("f"))
        processes = [suite.start("--run-id", run_id) for run_id in ("one", "two")]
        for process in processes:
            suite.finish(process)
        lines = sorted((record["run_id"], record["case"]) for record in suite.records())
        assert lines == [(run_id, name) for run_id in ("one", "two") for name in "abcde"]


class TestBrokenEnvironment:
    """Its cells are errors with the words of what is broken; never a bug, also not a documented one."""

    def expect(self, suite: Suite, message: str, **env: str) -> None:
        bugs = [{"outcome": outcome} for outcome in ("raise", "crash", "timeout", "wrong")]
        for bug in bugs:
            suite.case(f"case_{bug['outcome']}", compiles("f"), bugs=[bug])
        done = suite.run(**env)
        assert done.status == 1
        assert len(done.records) == len(bugs)
        for record in done.records:
            assert (record["outcome"], record["verdict"]) == ("error", "error")
            assert message in record["message"]

    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            ("raise", "canary on cpu with inductor: InternalTorchDynamoError: cannot compile program"),
            ("wrong", "canary on cpu with inductor: AssertionError: Tensor-likes are not close!"),
            ("unknown", f"canary on cpu with inductor: {NOTHING_REGISTERS}InvalidBackend: Invalid backend: 'inductor'"),
            ("abort", "canary on cpu with inductor: crash SIGABRT: died by SIGABRT"),
            ("no-space", "canary on cpu with inductor: OSError: [Errno 28] No space left on device"),
        ],
    )
    def test_compiler_that_cannot_compile(self, suite: Suite, fault: str, message: str) -> None:
        write_torch(suite.torch, faults={"program": fault})
        self.expect(suite, message)

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("import no_such_library", "No module named 'no_such_library'"),
            ("raise OSError('libtorch.so: undefined symbol')", "libtorch.so: undefined symbol"),
            ("import os; os.abort()", "went away"),
            ("import os; os._exit(5)", "it left with status 5"),
            ("import sys; sys.exit('numpy 2 is too new')", "numpy 2 is too new"),
        ],
    )
    def test_torch_that_does_not_import(self, suite: Suite, source: str, message: str) -> None:
        (suite.torch / "torch" / "__init__.py").write_text(source)
        self.expect(suite, message)

    def test_broken_later(self, suite: Suite) -> None:
        """A disk that fills after the canary passed."""
        write_torch(suite.torch, faults={"f": "no-space"})
        suite.case("a", compiles("f"), bugs=[{"outcome": "raise"}])
        assert suite.run().verdicts() == {"a::test_a": "error"}

    def test_other_torch_than_asked_for(self, suite: Suite) -> None:
        write_torch(suite.torch, "2.91.0+cpu")
        suite.case("a", compiles("f"))
        done = suite.run("--expect-torch", "2.92.0")
        assert done.status == 2
        assert "asked for torch 2.92.0, but this environment imports torch 2.91.0+cpu; nothing was run" in done.output
        assert done.records == []
        assert suite.run("--expect-torch", "2.91.0").status == 0

    def test_version_asked_for_must_be_one(self, suite: Suite) -> None:
        suite.case("a", compiles("f"))
        done = suite.run("--expect-torch", "newest")
        assert done.status == 4
        assert "--expect-torch" in done.output
        assert "Traceback" not in done.output


class TestRepeat:
    def verdicts(self, suite: Suite, what: str, *options: str, **settings: object) -> tuple[list[str], str, int]:
        """The verdict of every repeat, the message of the last, the exit status."""
        suite.case("counts", COUNTS.format(what=what), compiles=False, **settings)  # type: ignore[arg-type]
        done = suite.run(*options, SUITE_FOLDER=str(suite.folder), PT2BUGS_WRITE=str(suite.folder))
        assert [r["repeat"] for r in done.records] == list(range(1, len(done.records) + 1))
        assert {r["repeats"] for r in done.records} == {len(done.records)}
        return [r["verdict"] for r in done.records], done.records[-1]["message"], done.status

    @pytest.mark.parametrize(
        ("what", "verdicts", "reason"),
        [
            ("assert number % 2", ["fail", "pass", "flaky"], "repeats disagree: wrong 2/3, pass 1/3"),
            ("assert number != 1", ["pass", "fail", "flaky"], "repeats disagree: pass 2/3, wrong 1/3"),
            ("assert number != 2", ["pass", "pass", "flaky"], "repeats disagree: pass 2/3, wrong 1/3"),
            ("if number: os.abort()", ["pass", "fail", "flaky"], "repeats disagree: pass 1/3, crash SIGABRT 2/3"),
            ("os.abort() if number else 1/0", ["fail", "fail", "flaky"], "raise 1/3, crash SIGABRT 2/3"),
            ("pass", ["pass", "pass", "pass"], ""),
            ("assert False", ["fail", "fail", "fail"], ""),
        ],
    )
    def test_disagreement_is_flaky(self, suite: Suite, what: str, verdicts: list[str], reason: str) -> None:
        seen, message, status = self.verdicts(suite, what, "--repeat", "3")
        assert seen == verdicts
        assert reason in message
        assert status == (0 if set(verdicts) == {"pass"} else 1)

    def test_error_is_no_disagreement(self, suite: Suite) -> None:
        """A series that the environment spoilt says nothing; the cell is owed."""
        seen, message, _ = self.verdicts(suite, "if number == 1: raise OSError(28, 'disk full')", "--repeat", "3")
        assert seen[-1] == "error"
        assert "disk full" in message

    @pytest.mark.parametrize(
        ("what", "verdicts"),
        [
            ("pass", ["pass"]),
            ("assert number", ["fail", "pass", "flaky"]),
            ("assert False", ["fail", "fail", "fail"]),
            ("import unittest; raise unittest.SkipTest('x')", ["skip"]),
            ("raise OSError(28, 'disk full')", ["error"]),
        ],
    )
    def test_confirm_repeats_only_the_unexpected(self, suite: Suite, what: str, verdicts: list[str]) -> None:
        assert self.verdicts(suite, what, "--confirm", "3")[0] == verdicts

    def test_confirm_leaves_the_documented_bug_alone(self, suite: Suite) -> None:
        assert self.verdicts(suite, "assert False", "--confirm", "3", bugs=[{"outcome": "wrong"}])[0] == ["xfail"]

    def test_confirm_of_a_fix(self, suite: Suite) -> None:
        assert self.verdicts(suite, "pass", "--confirm", "2", bugs=[{"outcome": "wrong"}])[0] == ["xpass"] * 2

    def test_confirm_of_a_fix_that_does_not_last(self, suite: Suite) -> None:
        seen = self.verdicts(suite, "assert not number % 2", "--confirm", "3", bugs=[{"outcome": "wrong"}])
        assert seen[0] == ["xpass", "xfail", "flaky"]

    def test_case_that_declares_itself_flaky(self, suite: Suite) -> None:
        """Passing now and then is then no news, and no failure."""
        seen = self.verdicts(suite, "assert number", "--repeat", "2", bugs=[{"outcome": "wrong"}], flaky=True)
        assert seen[0][-1] == "flaky"
        assert seen[2] == 0

    @pytest.mark.parametrize("value", ["0", "-1", "x"])
    def test_count_must_be_positive(self, suite: Suite, value: str) -> None:
        suite.case("a", compiles("f"))
        done = suite.run("--repeat", value)
        assert done.status == 4
        assert "--repeat" in done.output

    def test_every_repeat_is_a_new_child(self, suite: Suite) -> None:
        body = """
        import torch
        def test_a():
            assert not hasattr(torch, "seen")
            torch.seen = True
        """
        suite.case("a", body, compiles=False)
        assert [r["verdict"] for r in suite.run("--repeat", "3").records] == ["pass"] * 3


def test_private_corpus_needs_no_settings(suite: Suite) -> None:
    """`pytest /elsewhere/my_cases` with nothing beside the cases."""
    path = suite.case("mine", compiles("f"))
    command = [sys.executable, "-m", "pytest", str(path), "--journal", str(suite.journal)]
    done = subprocess.run(command, cwd=suite.home, env=suite.environ(), check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert json.loads(suite.journal.read_text())["case"] == "mine"


@pytest.mark.parametrize("option", ["--setup-only", "--setup-plan"])
def test_a_rehearsal_runs_nothing(suite: Suite, option: str) -> None:
    suite.case("one", COUNTS.format(what="pass"), compiles=False)
    done = suite.run(option, SUITE_FOLDER=str(suite.folder), PT2BUGS_WRITE=str(suite.folder))
    assert (done.status, done.records) == (0, [])
    assert not (suite.folder / "count").exists()
    assert "no cell was run: --setup-only and --setup-plan ask for none" in done.output


def test_reruns_of_another_plugin_are_named(suite: Suite) -> None:
    """They repeat pytest's items, and a cell has its own repetitions."""
    # The option of pytest-rerunfailures, without what that does.
    plugin = "def pytest_addoption(parser):\n    parser.addoption('--reruns', type=int)\n"
    (suite.cases / "conftest.py").write_text(plugin)
    suite.case("fine", compiles("f"))
    warning = "warning: --reruns does nothing for cells; --repeat and --confirm run them again"
    done = suite.run("--reruns", "2")
    assert (done.status, len(done.records)) == (0, 1), done.output
    assert warning in done.output
    assert warning not in suite.run().output


def test_without_torch_it_says_so_once(suite: Suite) -> None:
    for name in ("one", "two"):
        suite.case(name, compiles(name))
    block = "import sys; sys.modules['torch'] = None; import importlib.util as u; real = u.find_spec\n"
    block += "u.find_spec = lambda name, *rest: None if name == 'torch' else real(name, *rest)\n"
    (suite.folder / "conftest.py").write_text(block)
    done = suite.run()
    assert done.status == 2, done.output
    assert done.output.count("no torch in ") == 1


def test_the_package_means_its_cases_in_a_clone_too(suite: Suite) -> None:
    done = suite.run("--pyargs", "pt2bugs", "--collect-only", "-k", "pytorch_163640")
    assert "pytorch_163640.py::test_padding_mask[cpu-eager]" in done.output


class TestJobs:
    """Cells are measured ahead of pytest, and reported as by one job."""

    WAITS_FOR_THE_OTHER = """
    import os, time
    from pathlib import Path

    def test_a():
        folder = Path(os.environ["SUITE_FOLDER"])
        (folder / "{own}").touch()
        while not (folder / "{other}").exists():
            time.sleep(0.01)
    """

    def test_run_at_once_and_are_reported_in_order(self, suite: Suite) -> None:
        for own, other in (("a", "b"), ("b", "a")):
            suite.case(own, self.WAITS_FOR_THE_OTHER.format(own=own, other=other), compiles=False, timeout=60)
        suite.case("c", compiles("f"))
        done = suite.run("--jobs", "2", SUITE_FOLDER=str(suite.folder), PT2BUGS_WRITE=str(suite.folder))
        assert [record["case"] for record in done.records] == ["a", "b", "c"]
        assert done.verdicts() == dict.fromkeys(("a::test_a", "b::test_a", "c::test_a"), "pass")

    @pytest.mark.parametrize("jobs", ["1", "4"])
    def test_give_the_same_outcomes(self, suite: Suite, jobs: str) -> None:
        write_torch(suite.torch, faults={"bad": "wrong", "dead": "abort"})
        for number in range(3):
            suite.case(f"good_{number}", compiles("good"))
        suite.case("bad", compiles("bad"))
        suite.case("dead", compiles("dead"), bugs=[{"outcome": "crash", "signal": "SIGABRT"}])
        done = suite.run("--jobs", jobs, "--repeat", "2")
        assert [(record["case"], record["repeat"]) for record in done.records] == [
            (name, repeat) for name in ("bad", "dead", "good_0", "good_1", "good_2") for repeat in (1, 2)
        ]
        assert "5 cells: 3 pass, 1 xfail, 1 fail" in done.output
        assert suite.survivors() == []

    def test_first_failure_ends_what_was_begun_ahead(self, suite: Suite) -> None:
        suite.case("a", "def test_a(): assert False")
        suite.case("b", "import time\ndef test_a(): time.sleep(3600)", compiles=False, timeout=3600)
        done = suite.run("-x", "--jobs", "2")
        assert done.verdicts() == {"a::test_a": "fail"}
        assert suite.survivors() == []

    def test_interrupt_ends_what_was_begun(self, suite: Suite) -> None:
        body = """
        import os, time
        from pathlib import Path

        def test_a():
            Path(os.environ["SUITE_FOLDER"], "{name}").touch()
            time.sleep(3600)
        """
        for name in "ab":
            suite.case(name, body.format(name=name), compiles=False, timeout=3600)
        process = suite.start("--jobs", "2", SUITE_FOLDER=str(suite.folder), PT2BUGS_WRITE=str(suite.folder))
        wait_until((suite.folder / "a").exists)
        wait_until((suite.folder / "b").exists)
        process.send_signal(signal.SIGINT)
        done = suite.finish(process)
        assert done.status == 2
        assert "KeyboardInterrupt" in done.output
        assert done.records == []
        wait_until(lambda: not suite.survivors(), 20)
