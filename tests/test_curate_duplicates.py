"""Cases that fail on the same releases with one component and symptom are told to a person: are they one bug?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pt2bugs.case.header import parse_case
from pt2bugs.cli import main
from pt2bugs.curate.duplicates import nearest
from seeded import write_case, write_journal


def output_of_check(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    main(["check", "--no-run", "--cases", f"{folder / 'cases'}", "--results", f"{folder / 'results'}", "pytorch_1"])
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("letters", "settings", "told"),
    [
        ({"2.8.0": "B", "2.10.0": "."}, {}, True),
        ({"2.8.0": "B", "2.9.1": "B", "2.10.0": ".", "2.10.1": "."}, {}, True),  # measured on more releases
        ({"2.8.0": "s", "2.9.1": "B", "2.10.0": "."}, {}, True),
        ({"2.8.0": ".", "2.9.1": "B", "2.10.0": "."}, {}, False),
        ({"2.8.0": "B", "2.9.1": "B"}, {}, False),
        ({"2.8.0": "B", "2.10.0": "."}, {"symptom": "missing-error"}, False),
        ({"2.8.0": "B", "2.10.0": "."}, {"same-fix": "pytorch_1"}, False),
    ],
)
def test_the_same_releases(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    letters: dict[str, str],
    settings: dict[str, Any],
    told: bool,
) -> None:
    write_journal(tmp_path, write_case(tmp_path, "pytorch_1"), {"2.8.0": "B", "2.9.1": "B", "2.10.0": "."})
    write_journal(tmp_path, write_case(tmp_path, "pytorch_2", **settings), letters)
    message = "pytorch_1: fails on the same releases with the same component and symptom as pytorch_2 "
    assert (message in output_of_check(tmp_path, capsys)) is told


def test_of_many_the_nearest_three_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    letters = {"2.8.0": "B", "2.9.1": "B", "2.10.0": "."}
    for number in range(1, 7):
        path = write_case(tmp_path, f"pytorch_{number}")
        if number in (1, 6):
            path.write_text(
                f"{path.read_text()}\nimport torch\n\n\ndef helper():\n    return torch.ones(1).cumsum(0)\n"
            )
        write_journal(tmp_path, path, letters)
    (line,) = [line for line in output_of_check(tmp_path, capsys).splitlines() if line.startswith("pytorch_1: fails")]
    assert line.partition(" as ")[2].startswith("pytorch_6 (")
    assert line.count("pytorch_") == 4
    assert line.endswith(", and 2 more")


def test_a_bug_on_every_release_has_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Many bugs are old and not fixed: that ties no two of them."""
    for name in ("pytorch_1", "pytorch_2"):
        write_journal(tmp_path, write_case(tmp_path, name), {"2.8.0": "B", "2.9.1": "B"})
    assert "component and symptom" not in output_of_check(tmp_path, capsys)


def test_the_nearest_of_a_new_case_share_a_rare_operator(tmp_path: Path) -> None:
    programs = {"pytorch_1": "torch.ones(1)", "pytorch_2": "torch.ones(1).cumsum(0)", "pytorch_3": "torch.ones(1)"}
    cases = []
    for name, body in programs.items():
        path = write_case(tmp_path, name)
        path.write_text(f"{path.read_text()}\nimport torch\n\n\ndef helper():\n    return {body}\n")
        cases.append(parse_case(path))
    new = "import torch\n\nx = torch.ones(2).cumsum(0)\n"
    first, *others = nearest(new, cases[0].component, cases[0].symptom, cases)
    assert (first.case.id, first.shared) == ("pytorch_2", ("Tensor.cumsum", "torch.ones"))
    assert [neighbour.case.id for neighbour in others] == ["pytorch_1", "pytorch_3"]


def test_without_a_component_what_exports_is_near_to_what_exports(tmp_path: Path) -> None:
    """`torch.relu` in both is less than an exported range of sizes in both."""
    exported = "torch.export.export(torch.nn.ReLU(), (), dynamic_shapes=torch.export.Dim('b'))"
    programs = {"pytorch_1": "torch.relu(torch.randn(1))", "pytorch_2": exported, "pytorch_3": "torch.randn(1)"}
    cases = []
    for name, body in programs.items():
        path = write_case(tmp_path, name)
        path.write_text(f"{path.read_text()}\nimport torch\n\n\ndef helper():\n    return {body}\n")
        cases.append(parse_case(path))
    new = (
        "import torch\nfrom torch.export import Dim, export\n\n"
        "export(lambda x: torch.relu(x), (torch.randn(1),), dynamic_shapes=Dim('b', min=1))\n"
    )
    first, *_ = nearest(new, "", "", cases)
    assert (first.case.id, first.shared) == ("pytorch_2", ("torch.export.Dim", "torch.export.export"))
