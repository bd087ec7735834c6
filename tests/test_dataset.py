"""The data set: read back by pandas, DuckDB, `datasets` and Croissant's own validator."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import datasets
import duckdb
import mlcroissant
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pt2bugs.case.operators import operators
from pt2bugs.cli import main
from pt2bugs.dataset.rows import release_days
from pt2bugs.dataset.schema import BUGS, CELLS, SPLIT, Column
from pt2bugs.dataset.splits import by_day, by_root
from pt2bugs.errors import install_command
from seeded import BUG, write_case, write_journal

ROOT = Path(__file__).resolve().parent.parent
RELEASES = ("2.2.2", "2.9.1", "2.10.0", "2.13.0")
ROWS = {
    "pytorch_1": "BB..",  # there from the first, fixed
    "pytorch_2": ".BBB",  # introduced, alive
    "pytorch_3": "sB.B",  # comes back
    "pytorch_4": "BB..",  # a twin of 1 by its fix
    "pytorch_5": ".BB.",  # the root of 6
    "pytorch_6": "BBB.",
    "pytorch_7": "....",  # a guard
}
FIX = "https://github.com/pytorch/pytorch/pull/100"
SETTINGS: dict[str, dict[str, Any]] = {
    "pytorch_1": {"fix": FIX, "upstream": "closed", "upstream-seen": "2026-11-01", "reported-on": "2.2.0"},
    "pytorch_4": {"fix": FIX},
    "pytorch_5": {"component": "inductor"},
    "pytorch_6": {"same-fix": "pytorch_5"},
    "pytorch_7": {"guard": True, "bugs": []},
}


def isolation(evidence: str, qualname: str) -> dict[str, Any]:
    unit = {"file": "_inductor/lowering.py", "qualname": qualname, "kind": "function"}
    return {
        "case": "pytorch_5", "check": "test_it", "device": "cpu", "backend": "inductor", "bad": "2.10.0",
        "good": "2.13.0", "direction": "fixed", "evidence": evidence, "label": "python", "units": [unit],
    }  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, letters in ROWS.items():
        number = name.rpartition("_")[2]
        issue = f"https://github.com/pytorch/pytorch/issues/{number}"
        path = write_case(folder, name, **{"issue": issue, "bugs": [BUG], **SETTINGS.get(name, {})})
        write_journal(folder, path, dict(zip(RELEASES, letters, strict=True)))
    write_case(folder, "pytorch_8", devices=["cuda"], bugs=[], issue="https://github.com/pytorch/pytorch/issues/8")
    fixes = folder / "results" / "fixes"
    fixes.mkdir()
    isolations = [isolation("executed", "view"), isolation("proved", "reshape")]
    (fixes / "pytorch_5.json").write_text(json.dumps({"schema": 1, "isolations": isolations}))
    return folder


def write(project: Path, out: Path, *arguments: str) -> int:
    where = ["--cases", str(project / "cases"), "--results", str(project / "results")]
    return main(["dataset", "-o", str(out), *where, *arguments])


@pytest.fixture(scope="module")
def data(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("data")  # an empty folder is as good as none
    assert write(project, out) == 0
    return out


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data set of this repository."""
    out = tmp_path_factory.mktemp("committed") / "dataset"
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        assert main(["dataset", "-o", str(out)]) == 0
    finally:
        os.chdir(before)
    return out


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def rows_of(data: Path) -> dict[str, dict[str, Any]]:
    lines = (data / "bugs.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["bug"]: row for row in map(json.loads, lines)}


# --- rows ----------------------------------------------------------------------------------------------


def test_a_row_for_each_distinct_bug(data: Path) -> None:
    rows = rows_of(data)
    names = ("first_failing", "last_failing", "left_censored", "introduced_after", "alive", "fixed_in", "fixed_on")
    assert {bug: tuple(row[name] for name in names) for bug, row in rows.items()} == {
        "pytorch_1": ("2.2.2", "2.9.1", True, None, False, "2.10.0", "2026-01-21"),
        "pytorch_2": ("2.9.1", "2.13.0", False, "2.2.2", True, None, None),
        "pytorch_3": ("2.9.1", "2.13.0", True, None, True, None, None),
        "pytorch_4": ("2.2.2", "2.9.1", True, None, False, "2.10.0", "2026-01-21"),
        "pytorch_5": ("2.2.2", "2.10.0", True, None, False, "2.13.0", "2026-07-08"),
        "pytorch_8": (None, None, None, None, None, None, None),
    }
    assert rows["pytorch_5"]["cases"] == ["pytorch_5", "pytorch_6"]
    assert rows["pytorch_5"]["component"] == "inductor"
    assert [row["group"] for row in rows.values()] == [
        "pytorch_1", "pytorch_2", "pytorch_3", "pytorch_1", "pytorch_5", "pytorch_8",
    ]  # fmt: skip


def test_what_the_header_and_the_isolation_say(data: Path) -> None:
    rows = rows_of(data)
    first = rows["pytorch_1"]
    assert (first["fix"], first["upstream"], first["upstream_seen"]) == (FIX, "closed", "2026-11-01")
    assert (first["reported_on"], first["found_beside"], first["schema"]) == ("2.2.0", None, 1)
    assert first["identity"] == ["wrong AssertionError matching 'not close'"]
    assert (first["seen_outcome"], first["seen_message"]) == ("wrong", "Tensor-likes are not close!")
    isolated = {name: value for name, value in rows["pytorch_5"].items() if name.startswith("isolated_")}
    assert isolated == {
        "isolated_evidence": "proved",
        "isolated_label": "python",
        "isolated_units": ["_inductor/lowering.py: reshape"],
        "isolated_bad": "2.10.0",
        "isolated_good": "2.13.0",
    }
    assert (data / "fixes" / "pytorch_5.json").is_file()


def test_every_program_is_there_as_it_is(project: Path, data: Path) -> None:
    programs = {path.name: path.read_bytes() for path in (data / "programs").iterdir()}
    assert programs == {path.name: path.read_bytes() for path in (project / "cases" / "dynamo").iterdir()}
    for row in rows_of(data).values():
        assert (data / row["program"]).is_file()


def test_cells_have_guards_and_states(data: Path) -> None:
    cells = pd.read_parquet(data / "cells.parquet")
    assert len(cells) == len(ROWS) * len(RELEASES)
    assert set(cells[cells["bug"].isna()]["case"]) == {"pytorch_7"}
    assert cells[cells["case"] == "pytorch_3"]["state"].tolist() == ["cannot say", "bug", "no bug", "bug"]
    assert set(cells[cells["case"] == "pytorch_6"]["bug"]) == {"pytorch_5"}


def test_a_selection(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert write(project, tmp_path / "out", "pytorch_6", "pytorch_2", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["schema"], printed["bugs"], printed["cells"], printed["programs"]) == (1, 2, 8, 2)
    assert printed["files"] == sorted(bytes_of(tmp_path / "out"))
    assert [row["cases"] for row in rows_of(tmp_path / "out").values()] == [["pytorch_2"], ["pytorch_6"]]


def test_operators_of_a_program() -> None:
    text = """
import torch, os
import torch.nn.functional as F
from torch import nn
from torch.func import vmap as mapped

class Model(nn.Module):
    def forward(self, x):
        y = F.relu(nn.Linear(2, 2)(x)).view(-1).mul_(2)
        torch.testing.assert_close(torch._foreach_add([y], 1)[0], torch.ops.aten.sin.default(y))
        torch._dynamo.reset()
        return mapped(torch.linalg.norm)(y.add_(1)), os.path.split("a"), "a".split(), {1}.add(2), y.size()

torch.compile(Model())
"""
    assert operators(text) == [
        "Tensor.add_", "Tensor.mul_", "Tensor.view", "torch._foreach_add", "torch.func.vmap", "torch.nn.Linear",
        "torch.nn.functional.relu", "torch.ops.aten.sin.default",
    ]  # fmt: skip


# --- files ---------------------------------------------------------------------------------------------


def test_the_same_bytes_every_time(project: Path, data: Path, tmp_path: Path) -> None:
    """Also in another process, with other hashes and another time zone, in another folder."""
    assert write(project, tmp_path / "again") == 0
    assert bytes_of(tmp_path / "again") == bytes_of(data)
    where = ["--cases", str(project / "cases"), "--results", str(project / "results")]
    command = [sys.executable, "-m", "pt2bugs", "dataset", "-o", "other", *where]
    environment = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert bytes_of(tmp_path / "other") == bytes_of(data)


def test_the_checksums_are_those_of_all_other_files(data: Path) -> None:
    files = bytes_of(data)
    lines = [line.split("  ") for line in files.pop("SHA256SUMS").decode().splitlines()]
    assert lines == [[hashlib.sha256(files[path]).hexdigest(), path] for path in sorted(files)]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_there_is_left_alone(
    kind: str, project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    mine = out / "mine.txt" if kind == "folder" else out
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine")
    assert write(project, out) == 2
    assert "is not an empty folder" in capsys.readouterr().err
    assert bytes_of(tmp_path) == {mine.relative_to(tmp_path).as_posix(): b"mine"}


def test_without_pyarrow(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "pt2bugs.dataset.files", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert write(project, tmp_path / "out") == 2
    assert install_command("parquet") in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_nothing_measured(project: Path, tmp_path: Path) -> None:
    assert write(project, tmp_path / "out", "pytorch_8", "--device", "cuda") == 3


# --- readers -------------------------------------------------------------------------------------------


def test_pandas_loads_it(data: Path) -> None:
    bugs = pd.read_parquet(data / "bugs.parquet")
    lines = pd.read_json(data / "bugs.jsonl", lines=True)
    assert list(bugs.columns) == [column.name for column in BUGS]
    assert list(lines.columns) == ["schema", *bugs.columns]
    assert bugs["bug"].tolist() == lines["bug"].tolist()
    assert bugs["alive"].tolist() == [False, True, True, False, False, None]
    assert pq.read_schema(data / "bugs.parquet").metadata[b"pt2bugs.schema"] == b"1"


def test_duckdb_loads_it(data: Path) -> None:
    query = f"""
        select bug, part, list_extract(cases, 1) from '{data}/bugs.parquet' join '{data}/splits/by-day.csv' using (bug)
        where not alive order by bug
    """
    assert duckdb.sql(query).fetchall() == [(f"pytorch_{n}", "test", f"pytorch_{n}") for n in (1, 4, 5)]


def test_datasets_loads_it(data: Path, tmp_path: Path) -> None:
    for kind, name in (("parquet", "bugs.parquet"), ("json", "bugs.jsonl"), ("parquet", "cells.parquet")):
        loaded = datasets.load_dataset(kind, data_files=str(data / name), split="train", cache_dir=str(tmp_path))
        assert len(loaded) == (len(ROWS) * len(RELEASES) if name == "cells.parquet" else 6)
    assert list(loaded.features) == [column.name for column in CELLS]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib uses what it deprecates itself
def test_croissant_is_valid_and_leads_to_every_record(data: Path) -> None:
    described = mlcroissant.Dataset(jsonld=str(data / "croissant.json"))
    assert not described.metadata.ctx.issues.errors
    counts = {"bugs": 6, "cells": len(ROWS) * len(RELEASES), "split-by-root": 6, "split-by-day": 6}
    for name, count in counts.items():
        assert len(list(described.records(name))) == count


# --- splits --------------------------------------------------------------------------------------------


def row(bug: str, group: str, fixed_in: str | None, fixed_on: str | None) -> dict[str, Any]:
    return {"bug": bug, "group": group, "fixed_in": fixed_in, "fixed_on": fixed_on}


def test_a_group_is_on_one_side() -> None:
    rows = [
        row("a", "a", "2.1.0", "2023-10-04"),
        row("b", "a", "2.13.0", "2026-07-08"),
        row("c", "c", "2.8.0", "2025-08-06"),
        row("d", "d", "2.1.0", "2023-10-04"),
        row("e", "d", None, None),
        row("f", "f", "99.0", None),
    ]
    days = {entry["bug"]: entry["part"] for entry in by_day(rows)}
    assert days == {"a": "test", "b": "test", "c": "validation", "d": "unfixed", "e": "unfixed", "f": "test"}
    roots = {entry["bug"]: entry["part"] for entry in by_root(rows)}
    assert roots["a"] == roots["b"]
    assert roots["d"] == roots["e"]
    assert roots == {entry["bug"]: entry["part"] for entry in by_root(reversed(rows))}


@pytest.mark.parametrize("split", ["by-root", "by-day"])
def test_the_splits_of_the_corpus(split: str, committed: Path) -> None:
    bugs = pd.read_parquet(committed / "bugs.parquet")
    parts = pd.read_csv(committed / "splits" / f"{split}.csv")
    assert parts["bug"].tolist() == bugs["bug"].tolist()
    of: dict[tuple[str, str], set[str]] = defaultdict(set)
    for bug, part in zip(bugs.to_dict("records"), parts["part"], strict=True):
        for tie in ("group", "issue", "fix"):
            if isinstance(bug[tie], str):
                of[tie, bug[tie]].add(part)
    assert [key for key, sides in of.items() if len(sides) > 1] == []
    assert parts["part"].value_counts().min() >= 20


# --- the corpus, the documents -------------------------------------------------------------------------


def test_the_data_set_of_the_corpus(committed: Path) -> None:
    bugs = pd.read_parquet(committed / "bugs.parquet")
    assert len(bugs) > 300
    assert (committed / "datasheet.md").read_bytes() == (ROOT / "docs/evaluation/datasheet.md").read_bytes()
    assert (bugs["operators"].str.len() > 0).mean() > 0.95
    # Every release that fixed a bug has its day.
    assert bugs[bugs["fixed_in"].notna() & bugs["fixed_on"].isna()]["fixed_in"].tolist() == []
    assert set(pd.read_parquet(committed / "cells.parquet")["torch"]) <= {*release_days()}


def test_the_page_has_every_column() -> None:
    page = (ROOT / "docs" / "reference" / "dataset.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*) \|$", page, re.MULTILINE)
    columns: tuple[Column, ...] = (*BUGS, *CELLS, *SPLIT)
    assert told == [(column.name, column.type, column.about) for column in columns]
