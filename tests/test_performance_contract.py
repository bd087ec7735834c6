"""What keeps it fast: work that is not done. Times are for `benchmarks/`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from fake_torch import build_wheels, serve_index
from pt2bugs.cli import main
from pt2bugs.commands.options import RunningOptions
from pt2bugs.commands.selection import run_options
from suite import Suite, case_text

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
        assert "pt2bugs" in modules
        assert not modules & set(HEAVY)

    def test_listing(self) -> None:
        modules = imported_by("from pt2bugs.cli import main\nassert main(['list', '--json']) == 0\nprint()")
        assert not modules & set(HEAVY)

    def test_the_pytest_process_of_a_run(self, tmp_path: Path) -> None:
        """The zygote imports torch; pytest, which starts it, does not."""
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
        suite.run(PT2BUGS_WRITE=str(suite.folder))
        assert log.read_text().splitlines() == ["imported now", "trained"]
        suite.run(PT2BUGS_WRITE=str(suite.folder))
        assert log.read_text().splitlines()[2:] == ["imported before"]
        memory = next(suite.folder.rglob("memory.json"))
        memory.write_text(json.dumps(json.loads(memory.read_text()) | {"canary": "that of an older version"}))
        suite.run(PT2BUGS_WRITE=str(suite.folder))
        assert log.read_text().splitlines()[3:] == ["imported now", "trained"], "another program may import more"

    def test_what_killed_processes_left_is_removed(self, suite: Suite) -> None:
        suite.run()
        folder = next(suite.folder.rglob("memory.json")).parent
        old, new = folder / "tmp_old", folder / "tmp_new"
        for made in (old, new):
            made.mkdir()
            (made / "module.py").touch()
        headers = folder / "torchinductor_me" / "precompiled_headers"
        headers.mkdir(parents=True)
        for name, text in (("half.gch", b"gpcWrite..."), ("whole.gch", b"gpch..."), ("begun.gch", b"gpcWrite")):
            (headers / name).write_bytes(text)
        for path in (old, headers / "half.gch", headers / "whole.gch"):
            os.utime(path, (0, 0))
        suite.run()
        assert not old.exists()
        assert (new / "module.py").exists()
        assert sorted(path.name for path in headers.iterdir()) == ["begun.gch", "whole.gch"]

    @pytest.mark.parametrize("end", ["os.abort()", "sys.exit('no training here')"])
    def test_what_happens_while_it_learns_says_nothing_about_an_environment(self, suite: Suite, end: str) -> None:
        init = suite.torch / "torch" / "__init__.py"
        init.write_text(init.read_text() + f"\nimport os, sys\nTensor.requires_grad_ = lambda self: {end}\n")
        assert suite.run().verdicts() == {"a::test_it": "pass"}

    QUESTIONS = """
import os

def note(word):
    with open({log!r}, "a") as file:
        file.write(f"{{word}} {{os.getpid()}} {{os.environ.get('TORCHINDUCTOR_CACHE_DIR')}}\\n")

def torch_key():
    note("sources")
    from torch._dynamo import utils
    utils.compilation_time_metrics = {{"torch_key": [0.25]}}

class CppPythonBindingsCodeCache:
    @staticmethod
    def load_pybinding_async(types, source):
        note("headers")
        return lambda: note("kernel")
"""

    CHECK_OF_TIMES = """
from torch._dynamo import utils

def test_it():
    assert not getattr(utils, "compilation_time_metrics", {})
"""

    def questions(self, suite: Suite, backend: str) -> list[list[str]]:
        """What the zygote asks of Inductor's caches: the question, the process, the folder of kernels."""
        inductor = suite.torch / "torch" / "_inductor"
        inductor.mkdir(exist_ok=True)
        (inductor / "__init__.py").touch()
        log = suite.folder / "questions"
        log.write_text("")
        (inductor / "codecache.py").write_text(self.QUESTIONS.format(log=str(log)))
        for name in ("a", "b"):
            suite.case(name, self.CHECK_OF_TIMES, compiles=False, backends=[backend])
        assert suite.run().verdicts() == {"a::test_it": "pass", "b::test_it": "pass"}
        return [line.split() for line in log.read_text().splitlines()]

    def test_inductor_is_asked_once_for_all_cells(self, suite: Suite) -> None:
        """For its sources' hash and whether its headers are up to date, never for a kernel."""
        asked = self.questions(suite, "inductor")
        assert [question for question, _, _ in asked] == ["sources", "headers", "headers"]
        assert len({process for _, process, _ in asked}) == 1
        assert not Path(asked[-1][2]).exists(), "what it writes for a kernel is gone"

    def test_who_compiles_no_kernel_asks_inductor_nothing(self, suite: Suite) -> None:
        assert self.questions(suite, "eager") == []


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
        options = run_options(RunningOptions(threads=threads))
        cores = len(os.sched_getaffinity(0))
        assert options.jobs == 1 or options.jobs * options.threads <= cores
        assert options.jobs == max(1, cores // threads)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    wheels = build_wheels(tmp_path_factory.mktemp("wheels"), {"2.5.1": {}, "2.6.0": {}})
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
        files = list(project.glob("home/envs/*/lib/python*/site-packages/numpy/__init__.py"))
        assert len(files) == 2
        assert files[0].samefile(files[1])


def test_the_plugin_is_installed() -> None:
    """Else the tests above would collect nothing of ours."""
    assert [entry.value for entry in metadata.entry_points(group="pytest11", name="pt2bugs")] == ["pt2bugs.plugin"]
