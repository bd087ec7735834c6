"""The known backends: what to install, import and set so that torch.compile finds them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from pt2bugs.engine.backend import BackendSetup

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = Path(__file__).with_name("known.toml")
REFERENCES = ("eager", "aot_eager", "inductor")
"""Whose answers tell what of a backend's failures is its own, from the outermost layer inwards."""


@dataclass(frozen=True)
class KnownBackend:
    """A backend that `known.toml` describes; the keys are explained there."""

    setup: BackendSetup
    about: str
    torch: SpecifierSet
    packages: tuple[str, ...] = ()
    extra: str = ""
    broken: str = ""

    def supports(self, torch: str) -> bool:
        """Whether it is for that release."""
        return self.torch.contains(torch, prereleases=True)

    @property
    def is_plain(self) -> bool:
        """Whether torch itself has it, without another package or module."""
        return not (self.packages or self.extra or self.setup.imports)


@lru_cache
def known_backends() -> dict[str, KnownBackend]:
    """All of them by name, in the order of the file."""
    with DATA.open("rb") as file:
        table: dict[str, dict[str, Any]] = tomllib.load(file)
    return {name: _parse(name, entry) for name, entry in table.items()}


def _parse(name: str, entry: dict[str, Any]) -> KnownBackend:
    setup = BackendSetup(
        name=name,
        backend=entry.get("backend", name),
        imports=(entry["import"],) if "import" in entry else (),
        env=entry.get("env", {}),
        settings=entry.get("settings", {}),
        device=entry.get("device", ""),
        not_claimed=tuple(entry.get("not-claimed", ())),
    )
    return KnownBackend(
        setup,
        about=entry["about"],
        torch=SpecifierSet(entry["torch"]),
        packages=tuple(entry.get("packages", ())),
        extra=entry.get("extra", ""),
        broken=entry.get("broken", ""),
    )
