"""Specs of torch.compile backends: those that `known.toml` describes, and what each needs to be run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from pt2bugs.case.cells import Cell, CellName
from pt2bugs.case.private import private_backends, private_extras
from pt2bugs.case.toml import parse_toml
from pt2bugs.case.vocabulary import EXTRAS
from pt2bugs.engine.backend import BackendSetup
from pt2bugs.envs.packages import package_word
from pt2bugs.errors import InputError

DATA = Path(__file__).with_name("known.toml")
_DIGEST = re.compile(r"@[0-9a-f]{8}$")


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
        """Return whether it is for a release.

        Args:
            torch: a public version.
        """
        return self.torch.contains(torch, prereleases=True)


def known_backends() -> dict[str, KnownBackend]:
    """Return the known backends by name, in the order of the file, then those of the private corpora that were read."""
    private = {name: _parse(name, {"about": "", "torch": "", **entry}) for name, entry in private_backends().items()}
    return {**_committed_backends(), **private}


@lru_cache
def _committed_backends() -> dict[str, KnownBackend]:
    table: dict[str, dict[str, Any]] = parse_toml(DATA.read_text(encoding="utf-8"))
    return {name: _parse(name, entry) for name, entry in table.items()}


def _parse(name: str, entry: Mapping[str, Any]) -> KnownBackend:
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


@dataclass(frozen=True)
class BackendOverrides:
    """The options of a user about a backend; `device` replaces the CPU in its cells, as in `BackendSetup`."""

    packages: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    not_claimed: tuple[str, ...] = ()
    device: str = ""


@dataclass(frozen=True)
class BackendSpec:
    """A backend with what it needs: `extras` beside torch, and what uv installs for those that are no known extra.

    `known` is its entry in `known.toml`; None where there is none, or where the user names other packages.
    """

    setup: BackendSetup
    extras: tuple[str, ...] = ()
    installs: tuple[tuple[str, str], ...] = ()
    known: KnownBackend | None = None

    @property
    def name(self) -> str:
        return self.setup.name

    def supports(self, torch: str) -> bool:
        """Return whether it is for a release, as far as is known.

        Args:
            torch: a public version.
        """
        return self.known is None or self.known.supports(torch)


def backend_spec(name: str, overrides: BackendOverrides = BackendOverrides()) -> BackendSpec:
    """Return what a backend needs.

    Args:
        name: a name in `known.toml`, or any that `torch.compile` takes.
        overrides: replaces what is known of it. Named packages are for any torch.

    Raises:
        InputError: a package is neither a requirement nor a path.
    """
    known = known_backends().get(name)
    setup = known.setup if known else BackendSetup(name, name)
    setup = replace(
        setup,
        imports=overrides.imports or setup.imports,
        not_claimed=overrides.not_claimed or setup.not_claimed,
        device=overrides.device or setup.device,
    )
    if overrides.packages:
        known = None
    extras = (known.extra,) if known and known.extra else ()
    installs = tuple(package_word(text) for text in overrides.packages or (known.packages if known else ()))
    return BackendSpec(setup, (*extras, *(extra for extra, _ in installs)), installs, known)


def require_name(name: str) -> None:
    """Refuse a text that cannot be the name of a backend: names are printed in tables and are part of file names.

    Args:
        name: as the user gives it.

    Raises:
        InputError: it holds what cannot be printed.
    """
    if not name.isprintable():
        raise InputError(f"{name!r}: not the name of a torch.compile backend")


def special_backends(names: Iterable[str], overrides: BackendOverrides = BackendOverrides()) -> dict[str, BackendSpec]:
    """Return the specs of those backends that torch does not find by their name alone.

    Args:
        names: backends.
        overrides: options about the only one of them.

    Raises:
        InputError: a name cannot be one, or there are options, and not exactly one backend.
    """
    names = list(dict.fromkeys(names))
    for name in names:
        require_name(name)
    options = (
        ("--with", overrides.packages),
        ("--import", overrides.imports),
        ("--not-claimed", overrides.not_claimed),
        ("--on", overrides.device),
    )
    given = [option for option, value in options if value]
    if given and len(names) != 1:
        raise InputError(f"{given[0]} is for one backend: name it, and no other, with --backend")
    specs = {name: backend_spec(name, overrides) for name in names}
    return {name: spec for name, spec in specs.items() if spec.extras or spec.setup != BackendSetup(name, name)}


def on_its_device(cells: Iterable[Cell], specs: Mapping[str, BackendSpec]) -> list[Cell]:
    """Return the cells, with the CPU replaced where the backend compiles for another device.

    Args:
        cells: cells of any backends.
        specs: backends by name; the cells of others stay as they are.
    """
    return [
        replace(cell, device=device)
        if cell.device == "cpu" and cell.backend in specs and (device := specs[cell.backend].setup.device)
        else cell
        for cell in cells
    ]


def reproduction(
    cell: CellName,
    torch: str | None,
    extras: Iterable[str],
    overrides: BackendOverrides = BackendOverrides(),
) -> list[str]:
    """Return the arguments of the command that runs a cell again, without the last, ``--rerun``.

    A known backend brings its packages and its device along.

    Args:
        cell: the cell.
        torch: the release; without one the command runs the torch that is there.
        extras: as in the journal, where a path has its last part alone.
        overrides: the options that the user gave.
    """
    spec = backend_spec(cell.backend)
    command = ["pt2bugs", "run", cell.case, *(["--torch", torch] if torch else [])]
    command += [] if cell.device in (spec.setup.device, overrides.device) else ["--device", cell.device]
    command += beside_torch(cell.backend, extras, overrides.packages)
    for option, values in (("--import", overrides.imports), ("--not-claimed", overrides.not_claimed)):
        command += [argument for value in values for argument in (option, value)]
    return command + (["--on", overrides.device] if overrides.device else [])


def beside_torch(backend: str, extras: Iterable[str], packages: Iterable[str] = ()) -> list[str]:
    """Return the arguments that name a backend and what was beside torch, as far as the backend does not bring it.

    Args:
        backend: its name.
        extras: as in the journal.
        packages: as the user gave them; the journal has the last part of a path alone.
    """
    extras = list(extras)
    own = [extra for extra in extras if extra not in backend_spec(backend).extras]
    named_extras = {*EXTRAS, *private_extras()}
    arguments = ["--backend", backend]
    arguments += [argument for extra in own if extra in named_extras for argument in ("--extra", extra)]
    if any(extra not in named_extras for extra in own):
        # Packages of the user replace all known ones, so that each must be named.
        named = packages or [_DIGEST.sub("", extra) for extra in extras if extra not in named_extras]
        arguments += [argument for package in named for argument in ("--with", package)]
    return arguments
