"""Which releases exist is asked of a real index over HTTP, served here; which are meant is pure."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.version import Version
from pt2bugs.envs.releases import Release, ReleaseError, available_releases, minors, select_releases
from pt2bugs.envs.sources import Sources, sources
from pt2bugs.errors import NothingSelected


def releases(*versions: str) -> list[Release]:
    return [Release(Version(version), ("3.11",)) for version in versions]


ALL = releases("2.0.0", "2.0.1", "2.9.0", "2.9.1", "2.10.0rc1", "2.10.0", "2.11.0.dev20260101")


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        (["minors"], "2.0.1 2.9.1 2.10.0"),
        (["all"], "2.0.0 2.0.1 2.9.0 2.9.1 2.10.0"),
        (["2.9.1"], "2.9.1"),
        (["2.9.1+cu128"], "2.9.1"),
        (["2.9"], "2.9.1"),
        (["2.9.0"], "2.9.0"),
        (["latest"], "2.10.0"),
        ([">=2.0.1,<2.10"], "2.0.1 2.9.0 2.9.1"),
        (["==2.9.*"], "2.9.0 2.9.1"),
        ([">=2.10.0rc1"], "2.10.0rc1 2.10.0 2.11.0.dev20260101"),
        (["2.10.0rc1"], "2.10.0rc1"),
        (["minors", "2.0.0"], "2.0.0 2.0.1 2.9.1 2.10.0"),
        (["2.9.1", ">=2.9,<2.10"], "2.9.0 2.9.1"),
        (["next"], "2.11.0.dev20260101"),
        (["next", "2.9"], "2.9.1 2.11.0.dev20260101"),
    ],
)
def test_what_is_meant(specs: list[str], expected: str) -> None:
    assert " ".join(map(str, select_releases(specs, ALL))) == expected


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ("2.10.0 2.11.0.dev20260101 2.11.0.dev20260103 2.11.0.dev20260102", "2.11.0.dev20260103"),
        ("2.11.0.dev20260103 2.12.0.dev20260102", "2.11.0.dev20260103"),
        ("2.11.0.dev20260101", "2.11.0.dev20260101"),
        ("2.10.0 2.10.0rc2 2.11.0rc1 2.11.0rc2 2.12.0.dev20260101", "2.11.0rc1 2.11.0rc2 2.12.0.dev20260101"),
        ("2.10.0 2.11.0.dev7", ""),
        ("2.10.0 2.10.0.dev20250101 2.9.0rc1", ""),
    ],
)
def test_what_is_next(there: str, expected: str) -> None:
    """The newest nightly is the youngest, and what was released since is not to come."""
    known = releases(*there.split())
    if expected:
        assert " ".join(map(str, select_releases(["next"], known))) == expected
    else:
        with pytest.raises(NothingSelected, match="--torch next: there is nothing newer than the newest release"):
            select_releases(["next"], known)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("3.1", r"--torch 3\.1: matches no torch release for this platform; the newest is 2\.10\.0"),
        (">=2.4,<2.5", "matches no torch release"),
        ("newest", "--torch newest: not a release; write"),
        ("2.9.x", "not a release"),
        ("2", r"not a release; write one of: 2\.9\.1 \(that release\), 2\.9 \(its newest patch\), latest, minors"),
        (">=", "not a release"),
    ],
)
def test_what_is_not(word: str, message: str) -> None:
    with pytest.raises(ReleaseError, match=message):
        select_releases([word], ALL)


def test_minors_are_the_newest_patches() -> None:
    assert [str(release) for release in minors(ALL)] == ["2.0.1", "2.9.1", "2.10.0"]


class Index:
    """A package index of one page, on localhost."""

    def __init__(self, body: bytes, content_type: str = "text/html", status: int = 200) -> None:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/simple/"

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


PAGE = """<!DOCTYPE html><html><body>
<a href="torch-2.9.1-cp310-cp310-manylinux_2_28_x86_64.whl">torch-2.9.1-cp310-cp310-manylinux_2_28_x86_64.whl</a>
<a href="torch-2.9.1-cp311-cp311-manylinux_2_28_x86_64.whl">torch-2.9.1-cp311-cp311-manylinux_2_28_x86_64.whl</a>
<a href="torch-2.9.1-cp313-cp313t-manylinux_2_28_x86_64.whl">torch-2.9.1-cp313-cp313t-manylinux_2_28_x86_64.whl</a>
<a href="torch-2.9.1-cp311-none-macosx_11_0_arm64.whl">torch-2.9.1-cp311-none-macosx_11_0_arm64.whl</a>
<a href="torch-2.8.0-cp311-cp311-win_amd64.whl">torch-2.8.0-cp311-cp311-win_amd64.whl</a>
<a href="torch-1.13.1-cp311-cp311-manylinux1_x86_64.whl">torch-1.13.1-cp311-cp311-manylinux1_x86_64.whl</a>
<a data-yanked="" href="torch-2.7.0-cp311-cp311-manylinux1_x86_64.whl">torch-2.7.0-cp311-cp311-manylinux1_x86_64.whl</a>
<a href="torch-2.14.0.dev20260101-py3-none-any.whl">torch-2.14.0.dev20260101-py3-none-any.whl</a>
<a href="torch-nonsense.whl">torch-nonsense.whl</a>
</body></html>"""


@pytest.fixture
def index() -> Iterator[Index]:
    with Index(PAGE.encode()) as index:
        yield index


@pytest.mark.skipif("not __import__('platform').machine() == 'x86_64'", reason="the page lists x86_64 wheels")
def test_an_index(index: Index, tmp_path: Path) -> None:
    (tmp_path / "torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl").touch()
    releases = available_releases(Sources(index.url, (str(tmp_path),)))
    assert [str(release) for release in releases] == ["2.9.1", "2.13.0", "2.14.0.dev20260101"]
    assert releases[0].pythons == ("3.10", "3.11")


def test_no_network() -> None:
    with pytest.raises(ReleaseError, match=r"cannot be asked .* check the network"):
        available_releases(Sources("http://127.0.0.1:9/simple/"))


@pytest.mark.parametrize("body", [b"{}", b'{"files": 3}', b"\xff\xfe"])
def test_an_index_that_answers_nonsense(body: bytes) -> None:
    message = "did not answer as one for torch|cannot be asked"
    with Index(body, "application/vnd.pypi.simple.v1+json") as index, pytest.raises(ReleaseError, match=message):
        available_releases(Sources(index.url))


def test_an_index_without_torch() -> None:
    with Index(b"", status=404) as index, pytest.raises(ReleaseError, match="did not answer as one for torch"):
        available_releases(Sources(index.url))


def test_sources_come_from_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_FIND_LINKS", "/a /b")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    packages = sources(find_links=["/c"])
    assert packages.find_links[:3] == ("/c", "/a", "/b")
    assert packages.index == "http://127.0.0.1:9/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/other")
    assert sources().index is None, "uv reads its own setting"
    assert sources("http://127.0.0.1:9/named").index == "http://127.0.0.1:9/named"
