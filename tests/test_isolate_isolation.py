"""Isolations on fake torches that differ in a few places: what is found, what is refused, and what is proved."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import threading
import time
import venv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from fake_torch import write_torch
from pt2bugs.engine.client import EngineError
from pt2bugs.engine.sandbox import probe
from pt2bugs.envs.environment import Environment, Key
from pt2bugs.isolate.isolation import Isolation, IsolationError, Isolator
from pt2bugs.isolate.trials import Check, Release
from pt2bugs.isolate.units import Wheels

Ask = Callable[..., Isolation]
CHECK = """
import torch
from torch import lowering


def test_row(device, backend):
    value = torch.compile(lambda row: lowering.embedding(row), backend=backend)(-3)
    assert value == "refused", f"row -3 gives {value}"
"""
OLD = """
import functools
from ._dynamo.utils import counters

LIMIT = {"lowest": -9}
CALLS = []


def decoy(row):
    return row


def clamp(row):
    return row


@functools.lru_cache(None)
def is_valid(row):
    return row >= LIMIT["lowest"]


def embedding(row):
    counters["stats"]["calls_captured"] += 1
    CALLS.append(decoy(row))
    row = clamp(row)
    return "loaded" if is_valid(row) else "refused"
"""


BINARY = "    if __import__(__package__).__version__ == '2.90.0':\n        raise ValueError('binary')\n"
"""Python that the older compiled library does not take."""


def new(*changes: tuple[str, str]) -> str:
    """The module with these changes, beside some that do nothing."""
    text = OLD.replace("def decoy(row):\n    return row", "def decoy(row):\n    row = row + 0\n    return row")
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    releases: list[Release] = []

    def isolate(
        good: str,
        bad: str = OLD,
        check: str = CHECK,
        both: Mapping[str, str] | None = None,
        builds: tuple[str, str] = ("", ""),
        device: str = "cpu",
        say: Callable[[str], None] = lambda _: None,
        faults: Mapping[str, str] | None = None,
        timeout_s: float = 10,
        jobs: int = 2,
        **files: str,
    ) -> Isolation:
        sides = []
        for version, text, build in (("2.90.0", bad, builds[0]), ("2.91.0", good, builds[1])):
            path = tmp_path / version
            venv.create(path, symlinks=True)
            packages = path / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
            further: Mapping[str, str] = files if version == "2.91.0" else {}
            write_torch(
                packages, f"{version}{build}", faults or {}, files={"lowering.py": text, **(both or {}), **further}
            )
            sides.append(Release(Environment(Key(version, "3"), path), tmp_path / "copies"))
        releases.extend(sides)
        path = tmp_path / "check.py"
        path.write_text(check)
        arguments = {"device": device, "backend": "inductor"}
        result = Isolation("case", "test_row", device, "inductor", "2.90.0", "2.91.0", "fixed")
        neighbour = tmp_path / "guard.py"
        neighbour.write_text(CHECK.replace("-3)", "-10)"))
        checks = [
            Check(program, "test_row", arguments, device, "inductor", timeout_s, None) for program in (path, neighbour)
        ]
        isolator = Isolator(
            result,
            checks[0],
            sides[0],
            sides[1],
            Wheels(sides[0].environment.torch, sides[1].environment.torch),
            budget_s=120,
            neighbours=checks[1:],
            jobs=jobs,
            say=say,
        )
        return isolator.run()

    yield isolate
    for release in releases:
        release.close()


def names(result: Isolation) -> list[str]:
    return [unit.qualname for unit in result.units]


def test_a_function_is_isolated_and_proved(ask: Ask) -> None:
    result = ask(new(("def clamp(row):\n    return row", "def clamp(row):\n    return row if row > 0 else -99")))
    assert (names(result), result.evidence, result.label, result.reason) == (["clamp"], "proved", "python", "")
    assert result.red_to_green == [3, 3]
    assert result.stayed_green == [1, 1]
    assert (result.graphs, result.breaks) == ([1, 1, 1], [0, 0, 0])
    assert result.patch.count("@@") == 2
    assert "decoy" not in result.patch.partition("@@")[2].partition("@@")[2]
    assert result.as_dict()["units"] == [
        {"file": "lowering.py", "qualname": "clamp", "kind": "function", "hunks": None}
    ]


@pytest.mark.parametrize(
    ("builds", "device", "evidence"),
    [
        (("+cu130", "+cu132"), "cpu", "proved"),
        (("+cu130", "+cu132"), "cuda", "patch"),
        (("+cu130", "+cu130"), "cuda", "proved"),
        (("+cu130", "+cpu"), "cpu", "patch"),
        (("+cu130", ""), "cpu", "patch"),
    ],
)
def test_builds_of_two_kinds_prove_nothing(ask: Ask, builds: tuple[str, str], device: str, evidence: str) -> None:
    fixed = new(("def clamp(row):\n    return row", "def clamp(row):\n    return row if row > 0 else -99"))
    result = ask(fixed, builds=builds, device=device)
    assert (names(result), result.evidence) == (["clamp"], evidence)
    assert result.builds == [build.lstrip("+") for build in builds]
    assert ("the builds differ" in result.reason) == (evidence == "patch")


def test_what_the_check_speaks_of_is_tried_first(ask: Ask) -> None:
    """The check says "refused"; the other file comes first by name. The newer binary does not take the old text."""
    text = "from .a import first\nfrom .z import refused\n" + OLD.replace("return row", "return refused(first(row))", 1)
    newer = BINARY.replace("2.90.0", "2.91.0")
    old = {"a.py": "def first(row):\n    return row\n", "z.py": f"def refused(row):\n{newer}    return row\n"}
    fixed = {
        "a.py": "def first(row):\n    return row + 0\n",
        "z.py": "def refused(row):\n    return row if row > 0 else -99\n",
    }
    text = text.replace("CALLS.append(decoy(row))", "row = decoy(row)")
    told: list[str] = []
    result = ask(text, text, both=old, say=told.append, **fixed)
    assert (names(result), result.evidence) == (["refused"], "patch")
    assert next(line for line in told if ", in memory:" in line).endswith("z.py: refused: green")


def test_what_memory_cannot_take_is_the_first_text(ask: Ask) -> None:
    text = "from .a import first\nfrom .z import last\n" + OLD.replace(
        "    return row", "    return last(first(row))", 1
    )
    text = text.replace("CALLS.append(decoy(row))", "row = decoy(row)")
    last = "@lambda function: lambda row: {}\ndef last(row):\n    return row\n"
    old = {"a.py": "def first(row):\n    return row\n", "z.py": last.format("function(row)")}
    fixed = {
        "a.py": "def first(row):\n    return row + 0\n",
        "z.py": last.format("function(row) if row > 0 else -99"),
    }
    told: list[str] = []
    result = ask(text, text, both=old, say=told.append, **fixed)
    assert (names(result), result.evidence) == (["last"], "proved")
    texts = [line for line in told if ", as text:" in line]
    assert texts[1].endswith("z.py: last: green"), texts
    between = told[told.index(texts[0]) : told.index(texts[1])]
    assert not [line for line in between if ", in memory:" in line], "before all that ran is tried in memory"


def test_a_fix_with_a_name_that_is_not_there_is_no_proof(ask: Ask) -> None:
    """The check does not get to `rest`; another program would, and end in a NameError."""
    fixed = "def rest(row):\n    return row\n\n\ndef clamp(row):\n    return -99 if row < 0 else rest(row)"
    result = ask(new(("def clamp(row):\n    return row", fixed)))
    assert (names(result), result.evidence) == (["clamp"], "patch")
    assert result.reason == "it uses names that torch 2.90.0 lacks: lowering.py: rest"


def test_the_halves_of_a_fix_in_two_files(ask: Ask) -> None:
    """Each half fails or does nothing alone, and what runs between them does not run on the older binary."""
    text = "from .a import first\nfrom .b import second\nfrom .c import third\n" + OLD
    text = text.replace("    return row", "    return first(second(row))", 1)
    old = {
        "a.py": "from .c import third\n\n\ndef first(row):\n    return row\n",
        "b.py": "def second(row):\n    return row\n",
        "c.py": "def third(row):\n    return row\n",
    }
    half = "def first(row):\n    if third(3) == 3:\n        raise ValueError('not ready')\n    return -99\n"
    native = (
        "    from .version import __version__\n\n    if __version__ == '2.90.0':\n        raise ValueError('binary')\n"
    )
    fixed = {
        "a.py": f"from .c import third\n\n\n{half}",
        "b.py": f"def second(row):\n{native}    return row\n",
        "c.py": "def third(row):\n    return row + 1\n",
    }
    text = text.replace("CALLS.append(decoy(row))", "row = decoy(third(row) - third(0))")
    result = ask(text, text, both=old, **fixed)
    assert sorted(names(result)) == ["first", "third"]
    assert result.evidence == "proved", result.reason


def test_a_fix_in_a_function_that_the_older_binary_does_not_take(ask: Ask) -> None:
    """The good release with the old function tells which of its changes is the fix."""
    clamp = "def clamp(row):\n    return row"
    bad = OLD.replace(clamp, "def clamp(row):\n    low = row\n    middle = low\n    high = middle\n    return high")
    good = bad.replace("low = row", "low = -99 if row < 0 else row")
    told: list[str] = []
    result = ask(good.replace("    high = middle\n", f"{BINARY}    high = middle\n"), bad, say=told.append)
    assert (names(result), result.evidence) == (["clamp"], "proved"), told
    assert result.as_dict()["units"][0]["hunks"] == [0]
    assert "raise ValueError" not in result.patch


def test_what_a_failure_goes_through_comes_along(ask: Ask) -> None:
    """The new `first` hands over what only the new `second` takes; no name tells so."""
    text = "from .a import first\nfrom .c import third\n" + OLD.replace("    return row", "    return first(row)", 1)
    text = text.replace("CALLS.append(decoy(row))", "row = decoy(third(row))")
    first = "from .b import second\n\n\ndef first(row):\n    return second({})\n"
    old = {
        "a.py": first.format("row"),
        "b.py": "def second(row):\n    if type(row) is tuple:\n        raise ValueError('one')\n    return row\n",
        "c.py": "def third(row):\n    return row\n",
    }
    fixed = {
        "a.py": first.format("(row,)"),
        "b.py": "def second(row):\n    return -99 if type(row) is tuple else row\n",
        "c.py": f"def third(row):\n{BINARY}    return row\n",
    }
    told: list[str] = []
    result = ask(text, text, both=old, say=told.append, **fixed)
    assert (sorted(names(result)), result.evidence) == (["first", "second"], "proved"), told
    greens = [line.partition(", ")[2] for line in told if line.endswith(": green")]
    assert "taken back in torch 2.91.0: a.py: first: green" in greens
    assert "in memory: 2 units of 2 files: green" in greens


def test_a_header_of_kernels(ask: Ask) -> None:
    """All that changed does not run together: the newer module refuses the older binary."""
    reads = (
        "def clamp(row):\n    import pathlib\n    text = pathlib.Path(__file__).parent / 'include/ATen/cpu/vec/vec.h'\n"
    )
    reads += "    return -99 if text.read_text() == 'fixed' else row"
    bad = OLD.replace("def clamp(row):\n    return row", reads)
    header = "include/ATen/cpu/vec/vec.h"
    result = ask(f"{bad}\n{textwrap.dedent(BINARY)}", bad, both={header: "old"}, **{header: "fixed"})
    assert [unit.file for unit in result.units] == [header]
    assert (result.evidence, result.label) == ("proved", "header"), result.reason


def test_a_function_behind_a_cache(ask: Ask) -> None:
    result = ask(new(('return row >= LIMIT["lowest"]', "return row >= 0")))
    assert (names(result), result.evidence) == (["is_valid"], "proved")


def test_a_table_of_a_module_is_text(ask: Ask) -> None:
    result = ask(new(('{"lowest": -9}', '{"lowest": 0}')))
    assert (names(result), result.evidence) == (["LIMIT"], "proved")


def test_what_memory_alone_needs_is_left_out(ask: Ask) -> None:
    """What ran at import stays as it was in memory: there the caller is needed as well."""
    bad = OLD.replace('LIMIT = {"lowest": -9}', "def lowest():\n    return -9\n\n\nLIMIT = lowest()")
    bad = bad.replace("def clamp(row):\n    return row", "def clamp(row):\n    return row if row >= LIMIT else -99")
    bad = bad.replace('row >= LIMIT["lowest"]', "row > -99")
    good = bad.replace("return -9\n", "return 0\n").replace("row >= LIMIT else", "row >= lowest() else")
    result = ask(good, bad=bad)
    assert (names(result), result.evidence, result.reason) == (["lowest"], "proved", "")
    assert "clamp" not in result.patch


def test_what_is_new_comes_along(ask: Ask) -> None:
    helper = "def highest(row):\n    return -99 if row < 0 else row\n\n\ndef clamp(row):\n    return highest(row)"
    result = ask(new(("def clamp(row):\n    return row", helper)))
    assert (sorted(names(result)), result.evidence) == (["clamp", "highest"], "proved")


def test_what_only_the_good_release_executes_is_a_candidate(ask: Ask) -> None:
    helper = "def highest(row):\n    return -99 if row < 0 else row\n\n\ndef clamp(row):\n    return highest(row)"
    told: list[str] = []
    ask(new(("def clamp(row):\n    return row", helper)), say=told.append)
    assert "1 changed files, 3 changed functions ran, 3 of them for this check" in told


def test_no_set_is_tried_twice(ask: Ask) -> None:
    told: list[str] = []
    ask(
        new(("CALLS.append(decoy(row))", "CALLS.append(decoy(row) + 0)"), ('{"lowest": -9}', '{"lowest": 0}')),
        say=told.append,
    )
    assert sum(", in memory: 2 units of 1 file: red" in line for line in told) == 1, told


def test_a_release_whose_canary_fails_is_broken(ask: Ask) -> None:
    """It says nothing of the check."""
    fixed = new(("def clamp(row):\n    return row", "def clamp(row):\n    return row if row > 0 else -99"))
    with pytest.raises(EngineError, match="canary"):
        ask(fixed, faults={"program": "raise"})


def test_a_fix_that_breaks_the_graph_is_refused(ask: Ask) -> None:
    """The change of `decoy` makes the check pass by a graph break; the good release has none, by other means."""
    around = (
        "def decoy(row):\n    if not MENDED:\n"
        '        counters["graph_break"]["left"] += 1\n        LIMIT["lowest"] = 0\n    return row'
    )
    good = OLD.replace("def decoy(row):\n    return row", around).replace("CALLS = []", "CALLS = []\nMENDED = False")
    good = good.replace("MENDED = False", "MENDED = True").replace('{"lowest": -9}', '{"lowest": 0}')
    bad = OLD.replace("CALLS = []", "CALLS = []\nMENDED = False")
    result = ask(good, bad)
    assert names(result) == ["LIMIT"]
    assert result.breaks == [0, 0, 0]


def test_a_break_that_was_there_before_is_unrelated(ask: Ask) -> None:
    """The good release breaks no graph at `decoy` any more, with and without the fix."""
    decoy = "def decoy(row):\n"
    bad = OLD.replace(decoy, f'{decoy}    counters["graph_break"]["left"] += 1\n')
    result = ask(new(("def clamp(row):\n    return row", "def clamp(row):\n    return row if row > 0 else -99")), bad)
    assert (names(result), result.evidence) == (["clamp"], "proved")
    assert result.breaks == [1, 1, 0]
    assert result.unrelated == ["breaks 1, not 0, with and without the units"]


def test_a_default_that_changes_along_is_no_proof(ask: Ask) -> None:
    bad = OLD.replace("LIMIT =", "from ._dynamo import config\nLIMIT =")
    fixed = bad.replace('{"lowest": -9}', '{"lowest": config._config.setdefault("limit", 0)}')
    result = ask(fixed, bad, both={"_dynamo/config.py": '_config = {"level": 2}\n'})
    assert (names(result), result.evidence) == (["LIMIT"], "patch")
    assert result.reason == "it changes the default of _dynamo/config.py: limit"


def test_two_ways_to_the_same_are_no_proof(ask: Ask) -> None:
    result = ask(
        new(
            ("def clamp(row):\n    return row", "def clamp(row):\n    return row if row > 0 else -99"),
            ('return row >= LIMIT["lowest"]', "return row >= 0"),
        )
    )
    assert result.evidence == "patch"
    assert len(result.units) == 1
    assert len(result.alternatives) == 1
    assert "the check still passes: other changes there fix it as well" in result.reason


def test_what_is_kept_of_one_wheel_does_not_hold_for_another(tmp_path: Path) -> None:
    """As an environment that was made again from another build of its release had the traces of the first."""
    venv.create(tmp_path / "env", symlinks=True)
    environment = Environment(Key("2.90.0", "3"), tmp_path / "env")
    packages = next(environment.path.glob("lib*/python3*/site-packages"))
    folders = set()
    for version in ("2.90.0", "2.90.0+cpu", "2.90.0"):
        write_torch(packages, version)
        release = Release(environment, tmp_path / "copies")
        folders.add(release.traces)
        release.close()
    assert len(folders) == 2


@pytest.mark.skipif(bool(probe()), reason="this machine has no namespaces for a sandbox")
def test_a_check_cannot_lead_the_search_elsewhere(ask: Ask, tmp_path: Path) -> None:
    """Links in folders that it sees: what the search writes there next overwrote a file of the user."""
    victim, folder = tmp_path / "victim", tmp_path / "elsewhere"
    victim.write_text("kept")
    folder.mkdir()
    plant = f"""
import os
for line in open("/proc/self/mountinfo"):
    place = line.split()[4]
    for name, target in (("trivial.py", {str(victim)!r}), ("swap", {str(folder)!r}), ("executed", "/dev/zero")):
        if "pt2bugs-run-" in place:
            try:
                if os.path.lexists(f"{{place}}/{{name}}"): os.rename(f"{{place}}/{{name}}", f"{{place}}/old-{{name}}")
                os.symlink(target, f"{{place}}/{{name}}")
            except OSError: pass
"""
    ask(new(("def clamp(row):\n    return row", "def clamp(row):\n    return -99")), check=plant + CHECK)
    assert victim.read_text() == "kept"
    assert not list(folder.iterdir())


def test_what_only_the_binary_changed_is_native(ask: Ask) -> None:
    native = {"_native.txt": "fixed"}
    clamp = "def clamp(row):\n    return row"
    reads = (
        "def clamp(row):\n    import pathlib\n"
        '    return -99 if (pathlib.Path(__file__).parent / "_native.txt").exists() else row'
    )
    bad = OLD.replace(clamp, reads)
    result = ask(bad.replace("CALLS = []", "CALLS = [1]"), bad, **native)
    assert (result.units, result.label) == ([], "native")
    assert not result.is_isolated


def test_the_same_on_both_sides_is_no_question(ask: Ask) -> None:
    with pytest.raises(IsolationError, match=r"does not pass with torch 2\.91\.0"):
        ask(OLD)


def test_one_job_finds_the_same(ask: Ask) -> None:
    result = ask(new(('return row >= LIMIT["lowest"]', "return row >= 0")), jobs=1)
    assert (names(result), result.evidence, result.stayed_green) == (["is_valid"], "proved", [1, 1])


def test_ctrl_c_does_not_wait_for_runs_that_have_minutes_left(ask: Ask) -> None:
    hangs = CHECK.replace("    value =", "    __import__('time').sleep(600)\n    value =")
    # By then both runs have begun, or are about to.
    threading.Timer(4, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        ask(OLD, check=hangs, timeout_s=900)
    assert time.monotonic() - began < 300
