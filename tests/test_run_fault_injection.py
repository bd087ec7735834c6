"""A matrix under fire: random processes of it are killed, and what comes out is what an undisturbed run gives.

``benchmarks/kills.py`` does the same with a thousand kills and more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_torch import build_wheels, serve_index
from fire import RELEASES, Gun, Matrix, under_fire

KILLS = 100
KILLS_A_ROUND = 34


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = build_wheels(tmp_path_factory.mktemp("wheels"), RELEASES)
    with serve_index(folder, tmp_path_factory.mktemp("index")) as url:
        yield url


@pytest.mark.timeout(1500)
def test_kills_change_nothing(index: str, tmp_path: Path) -> None:
    undisturbed = Matrix(tmp_path / "undisturbed", index)
    undisturbed.finish()
    assert len(undisturbed.records()) == undisturbed.size
    gun = Gun(seed=20)
    rounds = 0
    while gun.hits.total() < KILLS:
        rounds += 1
        disturbed = Matrix(tmp_path / f"round-{rounds}", index)
        under_fire(disturbed, gun, min(KILLS_A_ROUND, KILLS - gun.hits.total()))
        before = disturbed.records()
        disturbed.finish()
        # Identical, none lost, none twice, nothing left over.
        assert disturbed.differences(undisturbed, before) == [], dict(gun.hits)
    assert gun.hits.total() >= KILLS
    assert set(gun.hits) == set(gun.WEIGHTS), gun.hits
