"""The sources of packages: those of the user's uv or pip, unless named."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache


@dataclass(frozen=True)
class Sources:
    """Sources of packages. `index` None means the default of uv.

    `companions` is set where the user named `index`, which may have torch and little else, as the index of
    nightlies has: whatever is not there comes from this one; empty for the default of uv.
    `torch_backend` is uv's word for the build of torch (``cpu``), which it takes from PyTorch's own indexes.
    """

    index: str | None = None
    find_links: tuple[str, ...] = ()
    companions: str | None = None
    torch_backend: str | None = None

    @property
    def name(self) -> str:
        """Return what tells environments of other builds apart; empty for what uv takes by default."""
        build = f"--torch-backend {self.torch_backend}" if self.torch_backend else ""
        return " ".join(part for part in (self.index, build) if part)

    @property
    def uv_arguments(self) -> list[str]:
        """The same as options of uv."""
        arguments = [part for link in self.find_links for part in ("--find-links", link)]
        if self.torch_backend:
            arguments += ["--torch-backend", self.torch_backend]
        if self.index is None:
            return arguments
        if self.companions is None:
            return [*arguments, "--default-index", self.index]
        default = ["--default-index", self.companions] if self.companions else []
        return [*arguments, "--index", self.index, *default]


def sources(index: str | None = None, find_links: Sequence[str] = (), torch_backend: str | None = None) -> Sources:
    """Return the package sources of the user's uv or pip, unless named.

    uv does not read pip's settings, so what pip is set up with is handed to it. Extra indexes of pip are
    left out: pip merges indexes, uv takes the first that has the package, and the two would disagree.

    Args:
        index: named by the user.
        find_links: folders and pages named by the user; the others come behind them.
        torch_backend: uv's word for the build of torch.
    """
    pip = _pip_settings()
    links = [*find_links, *_split(os.environ.get("UV_FIND_LINKS", "")), *pip.get("find-links", [])]
    default = None
    if not any(os.environ.get(name) for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL")):
        default = next(iter(pip.get("index-url", [])), None)
    unique = tuple(dict.fromkeys(links))
    packages = Sources(default, unique) if index is None else Sources(index, unique, default or "")
    return replace(packages, torch_backend=torch_backend)


def _split(text: str) -> list[str]:
    return [part for part in re.split(r"[\s,]+", text) if part]


def _pip_settings() -> dict[str, list[str]]:
    """Return what pip's files and variables say; a variable overrides the files, as it does for pip."""
    return _ask_pip(tuple(sorted(item for item in os.environ.items() if item[0].startswith("PIP_"))))


@lru_cache
def _ask_pip(variables: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """Return the same; it takes half a second. `variables` are those that the answer depends on."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    settings: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        # Lines are `:env:.find-links='/a'` or `global.find-links='/a /b'`.
        if setting := re.fullmatch(r"[^=]*\.([\w-]+)='(.*)'", line.strip()):
            settings.setdefault(setting[1], []).extend(setting[2].replace("\\n", " ").split())
    settings |= {
        name.removeprefix("PIP_").lower().replace("_", "-"): value.split() for name, value in variables if value
    }
    return settings


def endpoint(source: Sources) -> str:
    """Return the address of the index that answers for torch.

    Args:
        source: of packages.
    """
    from pypi_simple import PYPI_SIMPLE_ENDPOINT

    default = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL") or PYPI_SIMPLE_ENDPOINT
    return source.index or default
