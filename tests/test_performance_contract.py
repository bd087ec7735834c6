"""What keeps it fast: work that is not done. Times are for `benchmarks/`."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from fake_torch import build_wheels, repack, serve_index
from hypothesis import given
from hypothesis import strategies as st
from suite import Suite, case_text

from pt2bugs.case import header as case_module
from pt2bugs.case.corpus import load_cases
from pt2bugs.case.model import CaseError
from pt2bugs.cli import main
from pt2bugs.commands.common import run_options
from pt2bugs.results.journal import JournalWriter, journal_files, read_journal, read_newest
from pt2bugs.results.record import KEYS, SCHEMA, Record
from pt2bugs.results.matrix import newest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "numpy", "pandas")


def imported_by(script: str) -> set[str]:
    """Top-level modules that a program has imported at its end, the program run in the checkout."""
    script += "\nimport sys\nprint('imported', *{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


class TestNoTorch:
    def test_collecting(self) -> None:
        script = "import pytest\nassert pytest.main(['cases', '--collect-only', '-q', '-p', 'no:cacheprovider']) == 0"
        modules = imported_by(script)
        assert "harness" in modules
        assert not modules & set(HEAVY)

    def test_listing(self) -> None:
        modules = imported_by("from harness.cli import main\nassert main(['list', '--json']) == 0\nprint()")
        assert not modules & set(HEAVY)

    def test_the_pytest_process_of_a_run(self, tmp_path: Path) -> None:
        """The zygote imports torch; pytest, which it is forked from, does not."""
        suite = Suite(tmp_path)
        suite.case("a", "import sys\ndef test_it():\n    assert 'torch' in sys.modules\n", compiles=False)
        (suite.cases / "conftest.py").write_text(
            "import sys\ndef pytest_sessionfinish():\n    print('torch in pytest:', 'torch' in sys.modules)\n"
        )
        done = suite.run("-s")
        assert done.verdicts() == {"a::test_it": "pass"}
        assert "torch in pytest: False" in done.output


class TestWarmEnvironment:
    ISA = """
import os

class VecISA:
    def build_arch_flags(self):
        return str(self)

    def check_build(self, code):
        with open({probes!r}, "a") as file:
            file.write(f"{{self}}\\n")
        return str(self) not in {broken!r}

class AVX2(VecISA):
    __str__ = lambda self: "avx2"

class AVX512(VecISA):
    __str__ = lambda self: "avx512"

def valid_vec_isa_list():
    return [isa for isa in (AVX512(), AVX2()) if isa.check_build("code")]

def pick_vec_isa():
    return valid_vec_isa_list()[0]
"""

    @pytest.fixture
    def suite(self, tmp_path: Path) -> Suite:
        suite = Suite(tmp_path)
        suite.case("a", "def test_it():\n    pass\n", compiles=False)
        return suite

    def probes(self, suite: Suite, *broken: str) -> list[str]:
        """What a run asks the compiler for. `broken` are the ISAs that it cannot build."""
        inductor = suite.torch / "torch" / "_inductor"
        inductor.mkdir(exist_ok=True)
        (inductor / "__init__.py").touch()
        asked = suite.folder / "probes"
        asked.write_text("")
        (inductor / "cpu_vec_isa.py").write_text(self.ISA.format(probes=str(asked), broken=broken))
        assert suite.run().verdicts() == {"a::test_it": "pass"}
        return sorted(set(asked.read_text().split()))

    def test_is_not_probed_again(self, suite: Suite) -> None:
        assert self.probes(suite) == ["avx2", "avx512"]
        assert self.probes(suite) == []

    def test_what_did_not_work_is_tried_again(self, suite: Suite) -> None:
        assert self.probes(suite, "avx512") == ["avx2", "avx512"]
        assert self.probes(suite, "avx512") == ["avx512"]

    def test_another_build_of_torch_is_another_environment(self, suite: Suite) -> None:
        self.probes(suite)
        version = suite.torch / "torch" / "version.py"
        version.write_text(version.read_text() + "\n# rebuilt\n")
        assert self.probes(suite) == ["avx2", "avx512"]

    COMPILE = """
import sys

def note(word):
    with open({log!r}, "a") as file:
        file.write(word + "\\n")

Tensor.requires_grad_ = lambda self: note("trained")
compile_without_import = compile

def compile(function, **options):
    note("imported before" if "colorsys" in sys.modules else "imported now")
    import colorsys
    return compile_without_import(function, **options)
"""

    def test_imports_what_a_compile_once_imported(self, suite: Suite) -> None:
        """It compiles no backward either: that is there to see what training imports."""
        log, init = suite.folder / "log", suite.torch / "torch" / "__init__.py"
        init.write_text(init.read_text() + self.COMPILE.format(log=str(log)))
        suite.run()
        assert log.read_text().splitlines() == ["imported now", "trained"]
        suite.run()
        assert log.read_text().splitlines()[2:] == ["imported before"]

    CODECACHE = """
import functools

@functools.cache
def _precompile_header(header, **options):
    with open({log!r}, "a") as file:
        file.write(f"{{header}} {{options}}\\n")
    return header + ".gch"
"""
    COMPILE_WITH_HEADER = """
compile_without_header = compile

def compile(function, **options):
    from torch._inductor import codecache
    compiled = compile_without_header(function, **options)

    def with_header(*inputs):
        assert codecache._precompile_header("prefix.h", flags=("-O3",)) == "prefix.h.gch"
        return compiled(*inputs)

    return with_header
"""

    def test_headers_are_checked_once_in_a_run(self, suite: Suite) -> None:
        """Every compile of Inductor asks for them, the canary's too."""
        log, init = suite.folder / "log", suite.torch / "torch" / "__init__.py"
        init.write_text(init.read_text() + self.COMPILE_WITH_HEADER)
        inductor = suite.torch / "torch" / "_inductor"
        inductor.mkdir()
        (inductor / "__init__.py").touch()
        (inductor / "codecache.py").write_text(self.CODECACHE.format(log=str(log)))
        # Here it is imported by the canary only; of the real one `prepare` imports it.
        (inductor / "compile_fx.py").write_text("from torch._inductor import codecache\n")
        compiles = "import torch\ndef test_it():\n    torch.compile(lambda x: x, backend='inductor')(1)\n"
        suite.case("b", compiles, compiles=False)
        asked = "prefix.h {'flags': ('-O3',)}"
        suite.run()
        assert log.read_text().splitlines() == [asked] * 2, "by the canary, and then for all cells"
        suite.run()
        assert log.read_text().splitlines() == [asked] * 3, "before the canary"


class TestThreads:
    CHECK = """
import json, os, torch

def test_it():
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS")
    raise RuntimeError(json.dumps([torch.get_num_threads(), *(os.environ[name] for name in names)]))
"""

    @pytest.mark.parametrize("isolation", ["fork", "spawn"])
    @pytest.mark.parametrize("threads", [1, 3])
    def test_of_a_cell(self, tmp_path: Path, isolation: str, threads: int) -> None:
        suite = Suite(tmp_path)
        suite.case("a", self.CHECK, isolation=isolation)
        seen = json.loads(suite.run("--threads", str(threads)).record("a")["message"])
        assert seen == [threads, str(threads), str(threads), "1"]

    @pytest.mark.parametrize("threads", [1, 2, 1000])
    def test_jobs_times_threads_fit_the_cores(self, threads: int) -> None:
        import argparse

        arguments = argparse.Namespace(jobs=None, repeat=1, confirm=1, threads=threads, backend=[])
        options = run_options(arguments)
        cores = len(os.sched_getaffinity(0))
        assert options.jobs == 1 or options.jobs * options.threads <= cores
        assert options.jobs == max(1, cores // threads)


PURE = ("pytest", "packaging", "pytest-forked", "pytest-timeout")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    wheels = build_wheels(tmp_path_factory.mktemp("wheels"), {"2.5.1": {}, "2.6.0": {}})
    repack(wheels, PURE)
    with serve_index(wheels, tmp_path_factory.mktemp("index")) as url:
        yield url


class TestInstalling:
    @pytest.fixture
    def project(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        folder = tmp_path / "cases"
        folder.mkdir()
        (folder / "a.py").write_text(case_text("def test_it():\n    pass\n", compiles=False))
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PT2BUGS_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        for name in ("UV_CACHE_DIR", "UV_FIND_LINKS", "PIP_FIND_LINKS"):
            monkeypatch.delenv(name, raising=False)
        return tmp_path

    def environments(self, project: Path) -> list[str]:
        return sorted(path.parent.name.split("-py")[0] for path in project.glob("home/envs/*/pt2bugs.json"))

    def test_what_the_journal_answers_is_not_installed(self, project: Path, index: str) -> None:
        assert main(["run", "--torch", "2.5.1", "--index", index]) == 0
        assert self.environments(project) == ["torch-2.5.1"]
        shutil.rmtree(project / "home" / "envs")
        assert main(["run", "--torch", ">=2.5", "--index", index]) == 0
        assert self.environments(project) == ["torch-2.6.0"], "2.5.1 is answered"

    def test_what_is_imported_is_compiled_once(
        self, project: Path, index: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """uv leaves that to Python, and a compiler takes twice the time to import when it is."""
        monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        assert main(["run", "--torch", "2.6.0", "--index", index]) == 0
        packages = "home/envs/torch-2.6.0-*/lib/python*/site-packages"
        assert list(project.glob(f"{packages}/torch/_dynamo/__pycache__/__init__.*.pyc"))
        assert not list(project.glob("cases/__pycache__"))

    def test_wheels_are_shared_by_hard_links(self, project: Path, index: str) -> None:
        assert main(["envs", "create", "--torch", ">=2.5", "--index", index]) == 0
        files = list(project.glob("home/envs/*/lib/python*/site-packages/pytest/__init__.py"))
        assert len(files) == 2
        assert files[0].samefile(files[1])


def line(**changes: Any) -> Record:
    record = {**dict.fromkeys(KEYS, ""), "schema": SCHEMA, "torch": "2.9.1", "python": "3.11.7", "extras": []}
    return {**record, "repeat": 1, "repeats": 1, "outcome": "pass", "verdict": "pass", "harness": "0.1.0", **changes}


LINES = st.lists(
    st.builds(
        line,
        case=st.sampled_from(["a", "b"]),
        case_hash=st.sampled_from(["1", "2"]),
        torch=st.sampled_from(["2.9.1", "2.9.1+cpu", ""]),
        python=st.sampled_from(["3.11.7", "3.11.8"]),
        device=st.sampled_from(["cpu", 'a "quoted" one']),
        extras=st.sampled_from([[], ["turbine"]]),
        started=st.integers(10, 14).map(str),
        repeat=st.integers(1, 2),
        repeats=st.integers(1, 2),
        verdict=st.sampled_from(["pass", "fail", "error"]),
        message=st.text(max_size=8),
    ),
    max_size=30,
)


class TestReading:
    @given(rows=LINES, names=st.lists(st.sampled_from("xyz"), min_size=30, max_size=30))
    def test_lines_left_out_have_no_say(
        self, tmp_path_factory: pytest.TempPathFactory, rows: list[Record], names: list[str]
    ) -> None:
        folder = tmp_path_factory.mktemp("journal")
        for name, row in zip(names, rows, strict=False):
            writer = JournalWriter(folder / f"{name}.jsonl")
            writer.append(row)
            writer.close()
        files = journal_files(folder)
        assert newest(read_newest(files, pytest.fail), {}) == newest(read_journal(files, pytest.fail), {})

    def test_superseded_lines_are_not_parsed(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        writer = JournalWriter(path)
        for number in range(10):
            writer.append(line(started=str(number), message=f"run {number}"))
        writer.close()
        assert [record["message"] for record in read_newest([path], pytest.fail)] == ["run 9"]

    @pytest.mark.parametrize("message", ["", 'ends in {"a": "b"}', 'like , "harness": "0.1.0"}'])
    def test_a_torn_line_hides_no_whole_one(self, tmp_path: Path, message: str) -> None:
        path = tmp_path / "a.jsonl"
        writer = JournalWriter(path)
        writer.append(line(started="1", case="a"))
        writer.append(line(started="2", case="a", message=message))
        writer.close()
        whole, torn = path.read_bytes().splitlines(keepends=True)
        cuts = [cut for cut in range(1, len(torn) - 2) if torn[cut - 2 : cut] == b'"}'] or [len(torn) - 20]
        for cut in cuts:
            path.write_bytes(whole + torn[:cut] + b"\n")
            warnings: list[str] = []
            assert [record["started"] for record in read_newest([path], warnings.append)] == ["1"]
            assert warnings == [f"{path}:2: dropped a torn line"]


class TestManyCases:
    """A large corpus is parsed by several processes, and nobody can tell."""

    @pytest.fixture
    def corpus(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr(case_module, "_MANY", 3)
        for name in "abcdef":
            (tmp_path / f"{name}.py").write_text(case_text("def test_it():\n    pass\n", title=name))
        return tmp_path

    def test_are_what_one_process_makes_of_them(self, corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found = load_cases([corpus])
        monkeypatch.setattr(case_module, "_MANY", 100)
        assert found == load_cases([corpus])
        assert [case.title for case in found] == list("abcdef")

    def test_the_first_error_is_told(self, corpus: Path) -> None:
        for name in "ce":
            (corpus / f"{name}.py").write_text(case_text("def test_it(wrong):\n    pass\n"))
        with pytest.raises(CaseError, match=r"c\.py:\d+: check test_it takes 'wrong'") as caught:
            load_cases([corpus])
        assert (caught.value.path, caught.value.line) == (corpus / "c.py", 11)

    def test_an_error_survives_the_way_between_processes(self) -> None:
        error = CaseError(Path("a.py"), 3, "is wrong")
        copy = pickle.loads(pickle.dumps(error))
        assert (str(copy), copy.path, copy.line, copy.problem) == ("a.py:3: is wrong", Path("a.py"), 3, "is wrong")


def test_the_plugin_is_installed() -> None:
    """Else the tests above would collect nothing of ours."""
    assert [entry.value for entry in metadata.entry_points(group="pytest11", name="pt2bugs")] == ["harness.plugin"]
