"""A backend of one's own, as a wheel, over real environments made from wheels of a fake torch on a local index."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pt2bugs
import pytest
from fake_torch import build_wheels, serve_index, write_backend
from pt2bugs.backends.references import REFERENCES
from suite import Suite, case_text

RELEASES: dict[str, dict[str, str]] = {
    "2.12.0": {"shared": "raise"},
    "2.13.0": {"shared": "raise", "inductor:theirs": "wrong"},
}
CHECK = """
import torch

def test_{name}(backend, device):
    def {name}(x):
        return x.sin()

    x = torch.arange(4, device=device)
    torch.testing.assert_close(torch.compile({name}, backend=backend)(x), {name}(x))
"""
NO_OPERATOR = """
import torch

def test_absent(backend, device):
    def absent(x):
        if device == "npu":
            raise RuntimeError("there is no sin for the device npu")
        return x.sin()

    torch.compile(absent, backend=backend)(torch.arange(4, device=device))
"""
SETTING = """
import torch
import torch._inductor.config

def test_setting(backend):
    def setting(x):
        return x.sin()

    x = torch.arange(4)
    torch.compile(setting, backend=backend)(x)
    if torch._inductor.config.cpp_wrapper:
        raise RuntimeError(f"cpp_wrapper on {{backend}}")
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheels(tmp_path_factory.mktemp("wheels"), RELEASES)


@pytest.fixture(scope="module")
def index(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_index(wheels, tmp_path_factory.mktemp("index")) as url:
        yield url


class Vendor:
    """A folder with a small corpus, and a backend `mine` as a wheel."""

    def __init__(self, folder: Path, home: Path, index: str) -> None:
        self.folder, self.index = folder, index
        self.environ = {**os.environ, "PT2BUGS_HOME": str(home), "PIP_CONFIG_FILE": os.devnull}
        for name in ("UV_CACHE_DIR", "UV_FIND_LINKS", "PIP_FIND_LINKS"):
            self.environ.pop(name, None)
        for name in ("fine", "own", "shared", "theirs"):
            self.case(name, CHECK.format(name=name))
        self.case("trains", CHECK.format(name="trains"), demands=["training"])
        self.case("setting", SETTING.format())
        self.wheel = write_backend(folder, "mine", {"own": "wrong", "trains": "raise"})

    def case(self, name: str, text: str, **settings: Any) -> None:
        path = self.folder / "cases" / "dynamo" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(case_text(text, **settings))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "pt2bugs", *arguments],
            cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False, timeout=240,
        )  # fmt: skip

    def mine(self, verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        with_it = ("--with", str(self.wheel), "--import", "mine", "--index", self.index)
        return self.run(verb, *with_it, *arguments)

    def lines(self, folder: str) -> list[dict[str, Any]]:
        files = sorted((self.folder / "results" / folder).glob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def outcomes(self, folder: str) -> dict[str, str]:
        return {line["case"]: line["outcome"] for line in self.lines(folder)}


@pytest.fixture
def vendor(tmp_path: Path, home: Path, index: str) -> Vendor:
    return Vendor(tmp_path, home, index)


def test_a_backend_of_ones_own_is_installed_imported_and_kept_apart(vendor: Vendor) -> None:
    done = vendor.mine("run", "--backend", "mine", "--torch", "2.13.0")
    assert done.returncode == 1, done.stderr
    seen = {"fine": "pass", "own": "wrong", "shared": "raise", "theirs": "pass", "trains": "raise", "setting": "pass"}
    assert vendor.outcomes("backends/mine/journal") == seen
    assert vendor.lines("journal") == []
    assert (
        not (vendor.folder / "results" / "cells.csv").exists()
        or "mine" not in (vendor.folder / "results" / "cells.csv").read_text()
    )
    extras = {extra for line in vendor.lines("backends/mine/journal") for extra in line["extras"]}
    assert [extra.partition("@")[0] for extra in extras] == [vendor.wheel.name]
    again = vendor.mine("run", "--backend", "mine", "--torch", "2.13.0")
    assert "0 to run" in again.stderr


def test_a_private_corpus_of_the_backend_is_answered_by_every_verb(vendor: Vendor) -> None:
    bug = {"outcome": "wrong", "error": "AssertionError", "match": "not close"}
    vendor.case("own", CHECK.format(name="own"), backends=["mine"], bugs=[bug])
    done = vendor.mine("run", "own", "--backend", "mine", "--torch", "2.13.0")
    assert done.returncode == 0, done.stderr
    (line,) = vendor.lines("journal")
    assert (line["verdict"], [extra.partition("@")[0] for extra in line["extras"]]) == ("xfail", [vendor.wheel.name])
    assert not vendor.lines("backends/mine/journal")
    assert "xfail:wrong" in (vendor.folder / "results" / "matrix.csv").read_text()
    assert vendor.run("matrix", "own").stdout.split()[-1] == "w"
    told = json.loads(vendor.run("check", "own", "--json").stdout)
    assert "never measured" not in str(told)
    vendor.case("own", CHECK.format(name="own"), backends=["mine"])
    blessed = vendor.run("bless", "own")
    assert "only 1 release has an answer" in blessed.stderr
    vendor.case("own", "import json\n" + CHECK.format(name="own"), backends=["mine"])
    again = f"measure again with: pt2bugs run own --torch 2.13.0 --python {line['python'].rpartition('.')[0]}"
    assert f"{again} --backend mine --with {vendor.wheel.name}" in vendor.run("matrix", "own").stderr


def test_what_it_does_not_claim_is_skipped_until_it_does(vendor: Vendor) -> None:
    vendor.mine("run", "--backend", "mine", "--torch", "2.13.0", "--not-claimed", "training")
    (line,) = (line for line in vendor.lines("backends/mine/journal") if line["case"] == "trains")
    assert (line["outcome"], line["verdict"], line["message"]) == ("skip", "skip", "not claimed: training")
    again = vendor.mine("run", "--backend", "mine", "--torch", "2.13.0", "--not-claimed", "training")
    assert "0 to run" in again.stderr
    vendor.mine("run", "--backend", "mine", "--torch", "2.13.0")
    assert vendor.outcomes("backends/mine/journal")["trains"] == "raise"


def test_a_header_that_names_the_backend_is_run_whatever_it_claims(vendor: Vendor) -> None:
    vendor.case("own", CHECK.format(name="own"), backends=["mine"], demands=["training"])
    for verb in (("run", "own", "--backend", "mine"), ("backend", "mine")):
        vendor.mine(*verb, "--torch", "2.13.0", "--not-claimed", "training", "--rerun")
        lines = vendor.lines("journal")
        assert {line["outcome"] for line in lines if line["backend"] == "mine"} == {"wrong"}


def test_a_variant_has_its_own_name_and_the_check_the_real_one(vendor: Vendor) -> None:
    arguments = ("--torch", "2.13.0", "--index", vendor.index)
    vendor.run("run", "setting", "--backend", "inductor-cpp-wrapper", "--backend", "inductor", *arguments)
    (line,) = vendor.lines("backends/inductor-cpp-wrapper/journal")
    assert (line["backend"], line["message"]) == ("inductor-cpp-wrapper", "cpp_wrapper on inductor")
    (named,) = vendor.lines("journal")
    assert (named["backend"], named["outcome"]) == ("inductor", "pass")


def test_the_answer_says_what_is_its_own(vendor: Vendor) -> None:
    done = vendor.mine("backend", "mine", "--torch", "2.13.0", "--not-claimed", "training", "--json")
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["torch"], answer["backend"]) == ("2.13.0", "mine")
    groups = {cell["case"]: cell["group"] for cell in answer["cells"]}
    assert groups == {
        "fine": "passes", "setting": "passes", "own": "only-yours", "shared": "inherited", "theirs": "not-yours",
        "trains": "not-claimed",
    }  # fmt: skip
    own = next(cell for cell in answer["cells"] if cell["case"] == "own")
    assert (own["outcome"], own["others"]) == ("wrong", dict.fromkeys(REFERENCES, "pass"))
    with_it = f"--with {vendor.wheel} --import mine --not-claimed training --index {vendor.index}"
    assert own["reproduce"] == f"pt2bugs run own --torch 2.13.0 --device cpu --backend mine {with_it} --rerun"
    # What headers name is the corpus's own answer; the rest is not.
    assert {line["backend"] for line in vendor.lines("journal")} == {"inductor"}
    assert {line["backend"] for line in vendor.lines("backends/eager/journal")} == {"eager"}
    table = (vendor.folder / "results" / "cells.csv").read_text()
    assert "mine" not in table
    assert "eager" not in table

    overview = {row["backend"]: row for row in json.loads(vendor.run("backend", "--json").stdout)}
    counted = {name: number for name, number in overview["mine"].items() if isinstance(number, int) and number}
    assert counted == {
        "cells": 6,
        **dict.fromkeys(("only-yours", "inherited", "not-yours", "not-claimed"), 1),
        "passes": 2,
    }
    assert "about" in overview["openvino"]
    assert vendor.run("backend", "--torch", "2.13.0").returncode == 2

    offline = vendor.run("backend", "mine", "--with", str(vendor.wheel), "--offline")
    assert offline.stdout.index("only yours") < offline.stdout.index("from the layers above")
    assert offline.stdout.index("from the layers above") < offline.stdout.index("not yours")

    file = vendor.folder / "known.toml"
    arguments = ("mine", "--with", str(vendor.wheel), "--offline", "--baseline", str(file))
    assert vendor.run("backend", *arguments).returncode == 2
    assert vendor.run("backend", *arguments, "--update-baseline").returncode == 0
    assert file.read_text().count("[[accepted]]") == 2  # own and shared
    same = vendor.run("backend", *arguments, "--diff", "markdown")
    assert (same.returncode, same.stdout) == (0, f"Nothing differs from `{file}`.\n"), same.stderr
    text = file.read_text().replace("cannot compile", "cannot lower")
    file.write_text(text.replace('"own"', '"fine"').replace('"test_own"', '"test_fine"'))
    worse = vendor.run("backend", *arguments, "--diff", "markdown")
    assert worse.returncode == 1
    changes = [line.split("|")[1].strip() for line in worse.stdout.splitlines()[2:]]
    assert changes == ["new", "different", "gone"]
    differences = json.loads(vendor.run("backend", *arguments, "--json").stdout)["differences"]
    assert [(difference["change"], difference["case"]) for difference in differences] == [
        ("new", "own"), ("different", "shared"), ("gone", "fine"),
    ]  # fmt: skip
    assert differences[1]["known"] != differences[1]["seen"]


def test_a_night_in_shards_tells_only_what_differs(vendor: Vendor) -> None:
    arguments = ("mine", "--torch", "2.13.0", "own", "shared")
    cost = json.loads(vendor.mine("backend", *arguments, "--dry-run", "--json").stdout)
    assert cost["cells"] == 2 * (1 + len(REFERENCES))
    assert not (vendor.folder / "results" / "backends").exists()
    file = vendor.folder / "known.toml"
    assert vendor.mine("backend", *arguments, "--since-baseline").returncode == 2
    known = ("--baseline", str(file))
    seen = set()
    rows = [f"{name},test_{name},cpu,mine,300\n" for name in ("own", "shared")]
    (vendor.folder / "results").mkdir(exist_ok=True)
    (vendor.folder / "results" / "durations.csv").write_text("case,check,device,backend,seconds\n" + "".join(rows))
    for shard in ("1/2", "2/2"):
        done = vendor.mine("backend", *arguments, "--shard", shard, "--timeout", "50", *known, "--update-baseline")
        assert done.returncode == 0, done.stderr
        seen.add(len(vendor.lines("backends/mine/journal")))
    assert seen == {1, 2}
    empty = vendor.mine("backend", *arguments, "--shard", "3/3", *known, "--since-baseline")
    assert (empty.returncode, empty.stdout) == (0, ""), empty.stderr
    assert "shard 3/3 has no cell" in empty.stderr
    again = vendor.mine("backend", *arguments, *known, "--since-baseline")
    assert (again.returncode, again.stdout) == (0, ""), again.stderr
    file.write_text("")
    (own, shared) = json.loads(vendor.mine("backend", *arguments, *known, "--since-baseline", "--json").stdout)["cells"]
    assert f"--with {vendor.wheel}" in own["reproduce"]
    assert shared["group"] == "inherited"
    assert shared["reproduce"].startswith("pt2bugs run shared --torch 2.13.0 --device cpu --backend eager ")
    assert "--with" not in shared["reproduce"]


def test_what_its_device_cannot_do_is_not_its_own(vendor: Vendor) -> None:
    vendor.case("absent", NO_OPERATOR)
    wheel = write_backend(vendor.folder, "mine", {"own": "wrong"}, version="3.0", device="npu")
    with_it = ("--with", str(wheel), "--import", "mine", "--index", vendor.index, "--on", "npu")
    done = vendor.run("backend", "mine", "--torch", "2.13.0", "own", "fine", "absent", "theirs", *with_it, "--json")
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)["cells"]
    groups = {cell["case"]: cell["group"] for cell in answer}
    assert groups == {"own": "only-yours", "fine": "passes", "absent": "inherited", "theirs": "not-yours"}
    assert {cell["device"] for cell in answer} == {"npu"}
    assert {line["device"] for line in vendor.lines("backends/eager/journal")} == {"npu"}
    own = next(cell for cell in answer if cell["case"] == "own")
    again = vendor.run(*own["reproduce"].split()[1:])
    assert (again.returncode, vendor.lines("backends/mine/journal")[-1]["device"]) == (1, "npu"), again.stderr


def test_pytest_reaches_a_backend_as_the_command_does(suite: Suite) -> None:
    suite.case("own", CHECK.format(name="own"))
    suite.case("setting", SETTING.format())
    (suite.torch / "mine.py").write_text("import torch\ntorch.backend_faults['mine'] = {'own': 'wrong'}\n")
    path = os.pathsep.join([str(suite.torch), str(Path(pt2bugs.__file__).parent.parent)])
    done = suite.run("--backend", "mine", "--pt2bugs-import", "mine", PYTHONPATH=path)
    assert done.outcomes() == {"own::test_own": "wrong", "setting::test_setting": "pass"}, done.output
    suite.journal.unlink()
    done = suite.run("--backend", "inductor-cpp-wrapper", "-k", "setting", PYTHONPATH=path)
    assert done.record("setting")["message"] == "cpp_wrapper on inductor"


def test_a_backend_means_the_same_to_list_and_to_run(vendor: Vendor) -> None:
    vendor.case("inner", "def test_inner():\n    pass\n", backends=["aot_eager"])
    listed = {case["case"] for case in json.loads(vendor.run("list", "--backend", "mine", "--json").stdout)}
    assert listed == {"fine", "own", "shared", "theirs", "trains", "setting"}
    assert json.loads(vendor.run("list", "--backend", "aot_eager", "inner", "--json").stdout)[0]["case"] == "inner"


def test_packages_without_their_backend_are_refused(vendor: Vendor) -> None:
    done = vendor.mine("run", "--torch", "2.13.0")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--with is for one backend: name it" in done.stderr
    unfit = vendor.run("backend", "ipex", "--torch", "2.13.0", "--index", vendor.index)
    assert unfit.returncode == 2
    assert "ipex: is for torch ==2.8.*, not 2.13.0" in unfit.stderr


def test_compare_takes_the_backend_and_accepts_what_is_known(vendor: Vendor) -> None:
    # Broken in one release alone.
    wheel = write_backend(vendor.folder, "mine", {"own": "raise"}, version="2.0", only="2.13.0")
    with_it = ("--with", str(wheel), "--import", "mine", "--index", vendor.index, "--backend", "mine")
    moved = vendor.run("compare", "2.12.0", "2.13.0", "own", "fine", *with_it, "--json")
    assert moved.returncode == 1, moved.stderr
    changes = {change["case"]: change["change"] for change in json.loads(moved.stdout)["changes"]}
    assert changes == {"own": "broken", "fine": "passes in both"}
    file = vendor.folder / "known.toml"
    file.write_text(
        "[[accepted]]\ncase = 'own'\ncheck = 'test_own'\ndevice = 'cpu'\nbackend = 'mine'\noutcome = 'raise'\n"
        "error = 'InternalTorchDynamoError'\nmessage = 'cannot compile own'\nreason = 'ours'\n"
    )
    known = vendor.run("compare", "2.12.0", "2.13.0", "own", "fine", *with_it, "--offline", "--baseline", str(file))
    assert known.returncode == 0, known.stderr
    assert "broken but accepted (1)" in known.stdout
    bisected = vendor.run("bisect", "own", *with_it, "--offline", "--json")
    assert '"backend": "mine"' in bisected.stdout, bisected.stderr
