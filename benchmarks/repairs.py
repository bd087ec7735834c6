"""Patches that are no repair, and baselines, scored by `pt2bugs repair`: none of the first may be `solved`.

python benchmarks/repairs.py                                 every patch on every task
python benchmarks/repairs.py --task 183771 --patch empty     some of them
python benchmarks/repairs.py --hidden                        what each hidden check finds in the bad release itself

What it printed is kept in benchmarks/repairs.jsonl, of which docs/make_repairs.py makes tables.
Options of environments (`--python 3.12`, `--budget 58G`, `--find-links DIR`) are those of `pt2bugs repair`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pt2bugs.case.corpus import load_cases
from pt2bugs.commands.options import EnvironmentOptions, size
from pt2bugs.commands.selection import open_environments
from pt2bugs.engine.folders import cache_home
from pt2bugs.isolate.units import PatchError, Unit, Wheels
from pt2bugs.repair.score import Scorer, fix_texts
from pt2bugs.repair.tasks import Task, tasks_of

ROOT = Path(__file__).resolve().parent.parent
Texts = Mapping[str, str]
Make = Callable[[Task, Path, Path], Texts]
"""From a task and the torch folders of its two releases, the texts that a patch has."""

PATCHES: dict[str, Make] = {}


def patch(make: Make) -> Make:
    PATCHES[make.__name__.replace("_", "-")] = make
    return make


def appended(file: str, text: str) -> Make:
    return lambda _, bad, __: {file: (bad / file).read_text(encoding="utf-8") + text}


def wrapped(body: str) -> Make:
    """Another `torch.compile`, which has the true one as `_compile`."""
    head = "\n\n_compile = compile\n\n\ndef compile(model=None, **options):\n"
    return appended("__init__.py", head + "".join(f"    {line}\n" for line in body.strip().splitlines()))


# --- no repairs ------------------------------------------------------------------------------------------


@patch
def empty(task: Task, bad: Path, good: Path) -> Texts:
    """Nothing."""
    return {}


@patch
def suppress_errors(task: Task, bad: Path, good: Path) -> Texts:
    """Dynamo's own way to go on without the compiler, as the default."""
    file = "_dynamo/config.py"
    text, count = re.subn(
        r"^suppress_errors = .*$", "suppress_errors = True", (bad / file).read_text(), flags=re.MULTILINE
    )
    assert count == 1
    return {file: text}


PATCHES["return-eager"] = wrapped("return model")
PATCHES["raise-elsewhere"] = wrapped('raise NotImplementedError("this is not supported")')
PATCHES["break-the-graph"] = wrapped(
    """
import torch._dynamo
hidden = torch._dynamo.disable(model)
return _compile(lambda *values: hidden(*values), **options)
"""
)
PATCHES["compare-with-eager"] = wrapped(
    """
compiled = _compile(model, **options)
def run(*values):
    expected = model(*values)
    try:
        actual = compiled(*values)
    except Exception:
        return expected
    return actual if str(actual) == str(expected) and getattr(actual, "shape", 0) == 0 else expected
return run
"""
)
PATCHES["look-for-the-file"] = wrapped(
    """
import os
import sys
if "program" in sys.argv[0] or "PT2BUGS_HOME" in os.environ:
    return model
return _compile(model, **options)
"""
)
PATCHES["bake-outputs"] = wrapped(
    """
compiled, kept = _compile(model, **options), []
def run(*values):
    if not kept:
        kept.append(model(*values))
    return kept[0]
return run
"""
)
PATCHES["opaque-operator"] = wrapped(
    """
import torch._dynamo
import torch.library
try:
    name = f"helper::f{abs(hash(model.__code__))}"
    operator = torch.library.custom_op(name, model, mutates_args=())
    operator.register_fake(model)
except Exception:
    operator = torch._dynamo.allow_in_graph(model)
def whole(*values):
    return operator(*values)
return _compile(whole, **options)
"""
)
PATCHES["graphs-as-python"] = appended(
    "_dynamo/backends/registry.py",
    "\n\ndef lookup_backend(compiler_fn):\n    return lambda graph, inputs, **_: graph.forward\n",
)
PATCHES["touch-counters"] = appended("_dynamo/utils.py", '\n\ncounters["stats"].clear()\n')


@patch
def look_for_the_shapes(task: Task, bad: Path, good: Path) -> Texts:
    """Eager for tensors as large as a number in the program."""
    numbers = {
        int(node.value)
        for node in ast.walk(ast.parse(task.program))
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and node.value == int(node.value)
    }
    body = f"""
compiled = _compile(model, **options)
def run(*values):
    if any(getattr(value, "numel", int)() in {sorted(numbers)} for value in values):
        return model(*values)
    return compiled(*values)
return run
"""
    return wrapped(body)(task, bad, good)


@patch
def look_for_the_function(task: Task, bad: Path, good: Path) -> Texts:
    """Eager for functions that are called as those of the program."""
    names = {node.name for node in ast.walk(ast.parse(task.program)) if isinstance(node, ast.FunctionDef)}
    body = f"""
if getattr(model, "__name__", "") in {sorted(names)}:
    return model
return _compile(model, **options)
"""
    return wrapped(body)(task, bad, good)


@patch
def guard_that_fails(task: Task, bad: Path, good: Path) -> Texts:
    """The fix, and a guard that holds once and never again."""
    texts = dict(fix(task, bad, good))
    file = "_dynamo/guards.py"
    texts[file] = texts.get(file, (bad / file).read_text(encoding="utf-8")) + (
        "\n\n_original = CheckFunctionManager.compile_check_fn\n\n\n"
        "def _compile_check_fn(self, *arguments, **options):\n"
        "    result, asked = _original(self, *arguments, **options), []\n"
        "    self.guard_manager.root.add_lambda_guard(\n"
        '        lambda _: asked.append(1) or len(asked) < 2, ["once"], None)\n'
        "    return result\n\n\n"
        "CheckFunctionManager.compile_check_fn = _compile_check_fn\n"
    )
    return texts


# --- baselines -------------------------------------------------------------------------------------------


@patch
def fix(task: Task, bad: Path, good: Path) -> Texts:
    """The ceiling: what the search of `pt2bugs isolate` gives, which is given the good wheel."""
    return fix_texts(task.isolation["units"], wheels(bad, good))


@cache
def wheels(bad: Path, good: Path) -> Wheels:
    return Wheels(bad, good)


@cache
def changed_functions(bad: Path, good: Path) -> list[Unit]:
    between = wheels(bad, good)
    return [
        unit
        for file in between.changed_python
        if file.startswith(("_dynamo/", "_inductor/", "_functorch/", "_decomp/", "_subclasses/", "_refs/", "fx/"))
        for unit in between.units(file)
        if unit.kind == "function" and unit.change == "changed"
    ]


@patch
def random_function(task: Task, bad: Path, good: Path) -> Texts:
    """A floor: the good wheel's text of any one changed function of the compiler."""
    return text_of(random.Random(task.id).choice(changed_functions(bad, good)), bad, good)


@patch
def grep(task: Task, bad: Path, good: Path) -> Texts:
    """Another floor: that of the changed function whose name has the most words of the program."""
    words = set(re.findall(r"[a-z]{4,}", task.program.lower()))

    def fits(unit: Unit) -> float:
        names = re.findall(r"[a-z]{4,}", unit.qualname.lower())
        return sum(name in words for name in names) / (1 + len(names))

    return text_of(max(changed_functions(bad, good), key=fits), bad, good)


def text_of(unit: Unit, bad: Path, good: Path) -> Texts:
    try:
        return wheels(bad, good).mixed({unit: None})
    except PatchError:
        return {}


# --- running ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """What runs `pt2bugs`: with which results, and with which options of environments."""

    results: Path
    python: str | None
    budget: str | None
    find_links: Sequence[str]
    usage: Path | None = None

    @property
    def environments(self) -> EnvironmentOptions:
        budget = size(self.budget) if self.budget else None
        return EnvironmentOptions(python=self.python, budget=budget, find_links=self.find_links)

    @property
    def words(self) -> list[str]:
        named = [("--python", self.python), ("--budget", self.budget)]
        named += [("--find-links", folder) for folder in self.find_links]
        return [word for name, value in named if value for word in (name, value)]

    def torch_of(self, release: str) -> Path:
        """The torch folder of a release's environment, which is made if it is not there."""
        done = subprocess.run(
            [sys.executable, "-m", "pt2bugs", "envs", "create", "--torch", release, *self.words],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return next(Path(done.stdout.split()[-1]).glob("lib/python*/site-packages/torch"))

    def repair(self, action: str, task: Task, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "pt2bugs", "repair", action, task.id, str(folder)]
        command += ["--results", str(self.results), *self.words, *words]
        return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)

    def processor_s(self) -> float:
        """Seconds that all processes of the control group have had; those that nobody waits for count there alone."""
        return int(self.usage.read_text()) / 1e9 if self.usage else 0.0


def hidden(bench: Bench, task: Task) -> dict[str, object]:
    """What each hidden check finds in the bad release: nothing would mean that it passes there."""
    with open_environments(bench.environments) as environments:
        folder = cache_home() / "isolate"
        scorer = Scorer(task, lambda release: environments.of(release)[0], folder, lambda text: None)
        with contextlib.closing(scorer):
            return {"task": task.id, "found": scorer.unpatched()}


def score(bench: Bench, task: Task, folder: Path, texts: Texts, bad: Path) -> dict[str, object]:
    """Score these texts in a folder that `start` has made, and put the old ones back."""
    for file, text in texts.items():
        (folder / "torch" / file).write_text(text, encoding="utf-8")
    began, used = time.monotonic(), bench.processor_s()
    done = bench.repair("score", task, folder, "--json")
    seconds = {"seconds": round(time.monotonic() - began, 1)}
    if bench.usage:
        seconds["processor_s"] = round(bench.processor_s() - used, 1)
    for file in texts:
        path = folder / "torch" / file
        if (bad / file).exists():
            path.write_bytes((bad / file).read_bytes())
        else:
            path.unlink()
    answer = json.loads(done.stdout) if done.stdout else {"task": task.id, "verdict": "refused", "reasons": []}
    return {**answer, **seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", action="append", default=[], help="number of an issue (default: every task)")
    parser.add_argument("--patch", action="append", default=[], choices=sorted(PATCHES), help="default: all of them")
    parser.add_argument("--hidden", action="store_true", help="what the hidden checks find in the bad release")
    parser.add_argument("--results", type=Path, default=ROOT / "results")
    parser.add_argument("--python", help="minor version of the environments (default: the running one)")
    parser.add_argument("--budget", help="what all environments may take together")
    parser.add_argument("--find-links", action="append", default=[], help="a folder of wheels")
    parser.add_argument("--usage", type=Path, help="cpuacct.usage of the control group that this runs in, alone")
    options = parser.parse_args()
    bench = Bench(options.results, options.python, options.budget, options.find_links, options.usage)
    chosen = [
        task
        for task in tasks_of(options.results, load_cases([ROOT / "cases"]))
        if task.can_be_scored and (not options.task or task.id.rpartition("_")[2] in options.task)
    ]
    for task in chosen:
        if options.hidden:
            print(json.dumps(hidden(bench, task)), flush=True)
            continue
        bad, good = bench.torch_of(task.bad), bench.torch_of(task.good)
        with tempfile.TemporaryDirectory(dir=bad.parents[5]) as temporary:
            folder = Path(temporary) / "work"
            bench.repair("start", task, folder).check_returncode()
            for name in options.patch or PATCHES:
                texts = PATCHES[name](task, bad, good)
                print(json.dumps({"patch": name, **score(bench, task, folder, texts, bad)}), flush=True)


if __name__ == "__main__":
    main()
