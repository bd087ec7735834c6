"""Keys, Python versions, sizes and the disk budget of environments."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from fake_torch import build_wheels, serve_index
from packaging.version import Version
from pt2bugs.envs.environment import Environment, EnvironmentFailure, Key, choose_python, companions, compiles_on
from pt2bugs.envs.releases import Release
from pt2bugs.envs.size import format_size, parse_size
from pt2bugs.envs.sources import Sources
from pt2bugs.envs.store import INSTALL_BYTES, INSTALL_S, MARKER, Store, _uv_message
from suite import HARNESS, children, wait_until


@pytest.mark.parametrize(
    ("torch", "expected"),
    [
        ("2.0.1", ("numpy<2", "setuptools<70")),
        ("2.1.2", ("numpy<2", "setuptools<70")),
        ("2.2.2", ("numpy<2", "setuptools")),
        ("2.3.0", ("numpy", "setuptools")),
        ("2.15.0", ("numpy", "setuptools")),
    ],
)
def test_companions(torch: str, expected: tuple[str, ...]) -> None:
    assert companions(torch) == expected


@pytest.mark.parametrize(
    ("torch", "python", "expected"),
    [
        ("2.0.1", "3.10", True),
        ("2.0.1", "3.11", False),
        ("2.3.1", "3.12", False),
        ("2.4.0", "3.12", True),
        ("2.5.1", "3.13", False),
        ("2.6.0", "3.13", True),
        ("2.15.0", "3.14", True),
    ],
)
def test_where_dynamo_compiles(torch: str, python: str, expected: bool) -> None:
    assert compiles_on(torch, python) is expected


def test_the_python_of_a_release() -> None:
    old = Release(Version("2.0.1"), ("3.8", "3.9", "3.10", "3.11"))
    assert choose_python(old) == "3.10"
    assert choose_python(old, "3.11") == "3.11", "--python decides"
    with pytest.raises(EnvironmentFailure, match=r"torch 2\.0\.1 has no wheel for Python 3\.13; it has for 3\.8"):
        choose_python(old, "3.13")
    with pytest.raises(EnvironmentFailure, match=r"no wheel for Python 3\.10 or newer"):
        choose_python(Release(Version("2.0.0"), ("3.8", "3.9")))


def test_folders_tell_keys_apart() -> None:
    keys = [
        Key("2.9.1", "3.11"),
        Key("2.9.1", "3.12"),
        Key("2.9.1", "3.11", ("turbine",)),
        Key("2.9.1", "3.11", (), "http://127.0.0.1/a"),
        Key("2.9.1", "3.11", (), "http://127.0.0.1/b"),
    ]
    assert len({key.folder for key in keys}) == len(keys)
    assert keys[2].folder == "torch-2.9.1-py3.11-turbine"


def make(store: Store, torch: str, size: int, age: float, shared: Path | None = None) -> Environment:
    """An environment as an installation leaves it: files, then the marker."""
    path = store.home / Key(torch, "3.11").folder
    path.mkdir(parents=True)
    (path / "own").write_bytes(b"x" * size)
    if shared is not None:
        (path / "shared").hardlink_to(shared)
    facts = {"torch": torch, "python": "3.11", "extras": [], "index": ""}
    (path / MARKER).write_text(json.dumps(facts))
    os.utime(path / MARKER, (age, age))
    return Environment(Key(torch, "3.11"), path)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    return Store(Sources(), tmp_path)


MIB = 1 << 20


def test_sizes_count_shared_files_once(store: Store) -> None:
    wheel = store.uv_cache / "archive-v0" / "a" / "lib.so"
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"y" * 4 * MIB)
    make(store, "2.8.0", MIB, 1, wheel)
    make(store, "2.9.1", 2 * MIB, 2, wheel)
    sizes = {environment.key.torch: (size // MIB, own // MIB) for environment, size, own in store.sizes()}
    assert sizes == {"2.8.0": (5, 1), "2.9.1": (6, 2)}
    assert store.total() // MIB == 7


@pytest.mark.parametrize(
    "marker",
    [
        b"",
        b"{",
        b"null",
        b"[1]",
        b"5",
        b"{}",
        b'{"torch": 5, "python": [], "extras": [], "index": ""}',
        b"\xff",
        b"[" * 9999,
    ],
    ids=lambda marker: repr(marker[:20]),
)
def test_a_broken_marker_hides_no_other_environment(store: Store, marker: bytes) -> None:
    make(store, "2.9.1", 1, 1)
    broken = make(store, "2.8.0", 1, 2).path / MARKER
    broken.write_bytes(marker)
    assert [environment.key.torch for environment in store.environments()] == ["2.9.1"]
    assert len(store.sizes()) == 1
    assert store.cost_of_one() == (INSTALL_BYTES, INSTALL_S)


def test_the_least_recently_used_go_first(store: Store) -> None:
    for age, torch in enumerate(("2.9.1", "2.7.1", "2.8.0"), 1):
        make(store, torch, 2 * MIB, age)
    removed = store.collect(3 * MIB, keep=[Key("2.7.1", "3.11")])
    assert [environment.key.torch for environment in removed] == ["2.9.1", "2.8.0"]
    assert [environment.key.torch for environment in store.environments()] == ["2.7.1"]


def test_what_is_in_use_stays(store: Store) -> None:
    environment = make(store, "2.9.1", MIB, 1)
    with store.using(environment):
        assert store.collect(0) == []
    assert [there.key.torch for there in store.collect(0)] == ["2.9.1"]


def test_wheels_that_nothing_links_to_are_pruned(store: Store) -> None:
    for name in ("used", "unused"):
        path = store.uv_cache / "archive-v0" / name / "lib.so"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"y")
    make(store, "2.9.1", 1, 1, store.uv_cache / "archive-v0" / "used" / "lib.so")
    store.collect(100 * MIB)
    assert [path.name for path in (store.uv_cache / "archive-v0").iterdir()] == ["used"]


def test_while_uv_works_no_more_is_removed_than_the_budget_asks_for(store: Store) -> None:
    """Its cache cannot be pruned then, so that its files stay on the disk when environments go."""
    for age, torch in enumerate(("2.7.1", "2.8.0", "2.9.1"), 1):
        wheel = store.uv_cache / "archive-v0" / torch / "lib.so"
        wheel.parent.mkdir(parents=True)
        wheel.write_bytes(b"y" * 2 * MIB)
        make(store, torch, 1, age, wheel)
    with (store.uv_cache / ".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        removed = store.collect(5 * MIB)
    assert [environment.key.torch for environment in removed] == ["2.7.1"]
    assert store.total() // MIB == 4
    assert len(list(store.uv_cache.glob("archive-v0/*"))) == 3
    assert store.collect(5 * MIB) == []
    assert len(list(store.uv_cache.glob("archive-v0/*"))) == 2


def test_a_disk_that_becomes_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others make room for a new environment, whatever the budget; where they do not suffice, that is said first."""
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    wheels = build_wheels(tmp_path / "wheels", {"2.90.0": {}})
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    with serve_index(wheels, tmp_path / "index") as index:
        store = Store(Sources(index), tmp_path / "home", budget=1 << 60)
        make(store, "2.8.0", 2 * MIB, 1)
        kept = make(store, "2.9.1", 2 * MIB, 2)
        free = shutil.disk_usage(tmp_path).free
        said: list[str] = []
        monkeypatch.setattr(Store, "cost_of_one", lambda _: (free + 3 * MIB, 1.0))
        store.create(Key("2.90.0", python), said.append, keep=[kept.key])
    assert {there.key.torch for there in store.environments()} == {"2.9.1", "2.90.0"}
    told = [line.split(":")[0] for line in said]
    assert told[2:] == [
        "removed torch 2.8.0, Python 3.11",
        "the disk may become full",
        f"installing torch 2.90.0, Python {python}",
    ]
    assert said[0].startswith(f"an environment takes about {format_size(free + 3 * MIB)}, and ")


def test_a_cache_that_the_user_named_is_not_pruned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "theirs" / "archive-v0" / "a" / "lib.so"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"y")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "theirs"))
    Store(Sources(), tmp_path / "home").collect(0)
    assert path.exists()


def test_a_half_made_environment_is_not_there(store: Store) -> None:
    environment = make(store, "2.9.1", 1, 1)
    (environment.path / MARKER).unlink()
    assert store.find(environment.key) is None
    assert list(store.environments()) == []
    store.collect(MIB)
    assert not environment.path.exists()


@pytest.mark.parametrize("pyenv", ["", "/proc/1/root", "x" * 300])
def test_a_python_that_is_not_there(store: Store, pyenv: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of pyenv that cannot be looked at, as that of another user, is none."""
    monkeypatch.setenv("PYENV_ROOT", pyenv)
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    key = Key("2.9.1", "3.99")
    with pytest.raises(EnvironmentFailure, match=r"3\.99"):
        store.create(key)
    assert not (store.home / key.folder).exists()


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        ("error: Failed to install: x.whl\n  Caused by: No space left on device (os error 28)\n", "the disk is full; "),
        ("error: Failed to fetch: `u`\n  Caused by: dns error: failed to lookup\n", "no network, or the package index"),
        ("  x No solution found when resolving dependencies:\n", "No solution found when resolving dependencies"),
        ("", ""),
    ],
)
def test_message_of_uv(stderr: str, expected: str) -> None:
    message = _uv_message(stderr)
    assert expected in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("text", "size"), [("60G", 60 << 30), ("1.5 MiB", 3 << 19), ("500m", 500 << 20), ("2TB", 2 << 40)]
)
def test_parse_size(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1G", "5X", "5", "12.5"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size with its unit; write for example 60G"):
        parse_size(text)


def test_format_size() -> None:
    assert [format_size(n) for n in (5, 2048, 3 << 20, 5 << 40)] == ["5 B", "2 KiB", "3.0 MiB", "5120.0 GiB"]


def test_what_would_be_removed_stays(store: Store) -> None:
    for age, torch in enumerate(("2.9.1", "2.7.1", "2.8.0"), 1):
        make(store, torch, 2 * MIB, age)
    planned = [(environment.key.torch, freed // MIB) for environment, freed in store.to_remove(3 * MIB)]
    assert planned == [("2.9.1", 2), ("2.7.1", 2)]
    assert len(list(store.environments())) == 3
    assert [there.key.torch for there in store.collect(3 * MIB)] == ["2.9.1", "2.7.1"], "as planned"


def test_two_processes_make_room_at_once(store: Store) -> None:
    for age, torch in enumerate(("2.9.1", "2.7.1", "2.8.0"), 1):
        make(store, torch, 2 * MIB, age)
    other = Store(store.source, store.home.parent)

    def make_room(_: str) -> None:
        other.collect(3 * MIB)

    store.collect(1, log=make_room)
    assert not list(store.environments())


def test_a_new_environment_makes_others_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget is kept while environments are made, not by a command that somebody must remember."""
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    wheels = build_wheels(tmp_path / "wheels", {"2.90.0": {}, "2.91.0": {}, "2.92.0": {}})
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    keys = [Key(torch, python) for torch in ("2.90.0", "2.91.0", "2.92.0")]
    with serve_index(wheels, tmp_path / "index") as index:
        store = Store(Sources(index), tmp_path / "home", budget=1)
        said: list[str] = []
        store.create(keys[0], said.append)
        store.create(keys[1], said.append, keep=[keys[0]])
        assert {there.key.torch for there in store.environments()} == {"2.90.0", "2.91.0"}, "in use by this run"
        store.create(keys[2], said.append)
    assert [there.key.torch for there in store.environments()] == ["2.92.0"]
    assert sum("all may take 1 B together" in line for line in said) == 1


def test_a_wheel_of_a_folder_is_installed_again_after_it_was_pruned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    links = str(build_wheels(tmp_path / "wheels", {"2.90.0": {}}))
    key = Key("2.90.0", f"{sys.version_info.major}.{sys.version_info.minor}")
    with serve_index(tmp_path / "none", tmp_path / "index") as index:
        store = Store(Sources(index, (links,)), tmp_path / "home")
        for _ in range(2):
            assert (store.create(key).torch / "version.py").exists()
            assert [there.key for there in store.collect(0)] == [key]


_CREATES = """
import sys
from pathlib import Path
from pt2bugs.envs.environment import Key
from pt2bugs.envs.sources import Sources
from pt2bugs.envs.store import Store
python = f"{sys.version_info.major}.{sys.version_info.minor}"
Store(Sources(sys.argv[1]), Path(sys.argv[2])).create(Key("2.90.0", python))
"""


def is_uv(pid: int) -> bool:
    try:
        return b"uv" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_an_installation_ends_with_its_run(tmp_path: Path) -> None:
    """Else it would go on writing into a folder that the next run makes anew."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        run = subprocess.Popen(
            [sys.executable, "-c", _CREATES, address, str(tmp_path / "home")],
            env={**os.environ, "PYTHONPATH": HARNESS, "UV_CACHE_DIR": str(tmp_path / "cache")},
        )
        # Asked for the packages, this index never answers.
        connection, _ = silent.accept()
        (installing,) = children(run.pid)
        assert is_uv(installing)
        with connection:
            run.kill()
            run.wait()
            wait_until(lambda: not is_uv(installing))


def test_an_environment_from_other_wheels_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two builds have one release, so that whoever comes second gets the build of the first."""
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    links = {build: str(build_wheels(tmp_path / build, {f"2.90.0+{build}": {}})) for build in ("cpu", "cu130")}
    told: list[str] = []
    for build in ("cpu", "cpu", "cu130"):
        told.clear()
        with serve_index(tmp_path / "none", tmp_path / f"index-{len(list(tmp_path.iterdir()))}") as index:
            store = Store(Sources(index, (links[build],)), tmp_path / "home")
            environment = store.create(Key("2.90.0", python), told.append)
        assert "+cpu" in (environment.torch / "version.py").read_text()
        assert any("is there already" in line and links["cpu"] in line for line in told) == (build == "cu130"), told
