"""The documentation as a site: versions under one address, each with a search and with the page of the results."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from links import dead_links

ROOT = Path(__file__).resolve().parent.parent
SHELVES = ("tutorial", "guides", "concepts", "reference", "evaluation")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose `gh-pages` the workflow has made: of a commit, then of a release."""
    folder = tmp_path_factory.mktemp("site")
    identity = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environ = {**os.environ, **identity, "GITHUB_REF_NAME": "v1.2.3", "SITE_DIR": str(folder / "built")}
    run(folder, "git init -q -b main && git commit -q --allow-empty -m first", environ)
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "docs.yml").read_text(encoding="utf-8"))["jobs"]
    for step in jobs["site"]["steps"]:
        if "mike" in step.get("run", ""):
            text = step["run"].replace("--push ", "").replace("mike deploy", f"mike deploy -F {ROOT}/mkdocs.yml")
            run(folder, text.replace("mike set-default", f"mike set-default -F {ROOT}/mkdocs.yml"), environ)
    return folder


def run(folder: Path, command: str, environ: Mapping[str, str] = os.environ) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_release_stands_beside_the_newest_commit(repository: Path) -> None:
    versions = json.loads(run(repository, "git show gh-pages:versions.json"))
    assert [(version["version"], version["aliases"]) for version in versions] == [("dev", []), ("1.2.3", ["latest"])]
    assert "latest/" in run(repository, "git show gh-pages:index.html"), "the address leads to the newest release"


@pytest.mark.parametrize("version", ["dev", "1.2.3"])
def test_each_version_has_its_shelves_its_search_and_its_page(repository: Path, version: str) -> None:
    names = run(repository, f"git ls-tree --name-only gh-pages:{version}").split()
    assert set(SHELVES) <= set(names)
    entries = json.loads(run(repository, f"git show gh-pages:{version}/search/search_index.json"))["docs"]
    assert any("pt2bugs compare" in entry["text"] for entry in entries)
    assert 'id="matrix"' in run(repository, f"git show gh-pages:{version}/page/index.html")
    assert 'href="page/"' in run(repository, f"git show gh-pages:{version}/index.html")


def test_every_link_of_the_site_leads_somewhere(repository: Path, tmp_path: Path) -> None:
    """MkDocs warns of a file that is not there, but not of one that the site leaves out."""
    run(repository, f"git archive gh-pages:dev | tar -x -C {tmp_path}")
    # Those of 404.html are from the top of the host.
    pages = [page for page in tmp_path.rglob("*.html") if page.name != "404.html"]
    assert dead_links(tmp_path, pages)[2] == []
