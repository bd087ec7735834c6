"""Step 4: what is kept of what torch writes."""

from __future__ import annotations

from pathlib import Path

from pt2bugs.triage.artifacts import settle_repro

CHECKPOINT = """
import os
os.environ['TORCHINDUCTOR_COMPILE_THREADS'] = '1'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/a/folder/of/the/run'
os.environ['TORCH_COMPILE_DEBUG_DIR'] = '/another'

nodes = {nodes}
run_repro(mod, load_args, accuracy=True, command='run', save_dir='/another/run/checkpoints', check_str=None)
"""


def test_the_smallest_graph_of_the_minifier_is_kept(tmp_path: Path) -> None:
    """The folders of the run in which it was made are gone by then."""
    for folder, name, nodes in (
        ("run_1/minifier", "12", 12), ("run_2/minifier", "10", 10), (".", "minified_9_nodes", 9),
    ):  # fmt: skip
        checkpoints = tmp_path / folder / "checkpoints"
        checkpoints.mkdir(parents=True, exist_ok=True)
        (checkpoints / f"{name}.py").write_text(CHECKPOINT.format(nodes=nodes))
    launcher = tmp_path / "run_1" / "minifier" / "minifier_launcher.py"
    launcher.write_text("pass")
    settle_repro(tmp_path)
    assert sorted(tmp_path.rglob("*.py")) == [tmp_path / "repro.py", launcher]
    text = (tmp_path / "repro.py").read_text()
    assert "nodes = 9" in text
    assert "COMPILE_THREADS" in text
    assert "save_dir=None" in text
    assert "/a" not in text
