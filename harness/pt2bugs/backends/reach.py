"""How each backend asked for is reached: in which environment, with which imports and settings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pt2bugs.backends.known import KnownBackend, known_backends
from pt2bugs.case.cells import Cell
from pt2bugs.case.words import EXTRAS
from pt2bugs.engine.backend import BackendSetup
from pt2bugs.envs.packages import package_word
from pt2bugs.errors import InputError


@dataclass(frozen=True)
class BackendOverrides:
    """What a user says of a backend; `device` replaces the CPU in its cells, as in `BackendSetup`."""

    packages: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    not_claimed: tuple[str, ...] = ()
    device: str = ""


@dataclass(frozen=True)
class Reach:
    """A backend with what it needs: `extras` beside torch, and what uv installs for those that are no known extra."""

    setup: BackendSetup
    extras: tuple[str, ...] = ()
    installs: tuple[tuple[str, str], ...] = ()
    known: KnownBackend | None = None

    @property
    def name(self) -> str:
        return self.setup.name

    def supports(self, torch: str) -> bool:
        """Whether it is for that release, as far as is known."""
        return self.known is None or self.known.supports(torch)


def reach_of(name: str, overrides: BackendOverrides = BackendOverrides()) -> Reach:
    """How a backend is reached. What the user says counts before what is known of it.

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
    extras = (known.extra,) if known and known.extra and not overrides.packages else ()
    installs = [package_word(text) for text in overrides.packages or (known.packages if known else ())]
    # Whoever names packages decides for which torch they are.
    return Reach(
        setup, (*extras, *(extra for extra, _ in installs)), tuple(installs), known if not overrides.packages else None
    )


def special_reaches(backends: Iterable[str], overrides: BackendOverrides = BackendOverrides()) -> dict[str, Reach]:
    """Those of the backends that torch does not find by their name alone, by name.

    Raises:
        InputError: packages, modules, claims or a device are named, but not the one backend that they are for.
    """
    names = list(dict.fromkeys(backends))
    options = (
        ("--with", overrides.packages),
        ("--import", overrides.imports),
        ("--not-claimed", overrides.not_claimed),
        ("--on", overrides.device),
    )
    given = [option for option, value in options if value]
    if given and len(names) != 1:
        raise InputError(f"{given[0]} is for one backend: name it, and no other, with --backend")
    found = {name: reach_of(name, overrides) for name in names}
    return {name: reach for name, reach in found.items() if reach.extras or reach.setup != BackendSetup(name, name)}


def on_its_device(cells: Iterable[Cell], reaches: dict[str, Reach]) -> list[Cell]:
    """The cells, with the CPU replaced where the backend is one of another device."""
    return [
        replace(cell, device=device)
        if cell.device == "cpu" and cell.backend in reaches and (device := reaches[cell.backend].setup.device)
        else cell
        for cell in cells
    ]


_DIGEST = re.compile(r"@[0-9a-f]{8}$")


def reproduction(
    cell: tuple[str, str, str, str],
    torch: str | None,
    extras: Iterable[str],
    overrides: BackendOverrides = BackendOverrides(),
) -> list[str]:
    """The arguments of the command that runs a cell of an environment again, without the last, ``--rerun``.

    A backend that is known brings its packages and its device along. `extras` are those of the journal, where a path
    has its last part alone; `overrides` has what the user named. Without `torch` it is the running one.
    """
    case, _, device, backend = cell
    reach = reach_of(backend)
    command = ["pt2bugs", "run", case, *(["--torch", torch] if torch else [])]
    command += [] if device in (reach.setup.device, overrides.device) else ["--device", device]
    command += ["--backend", backend]
    own = [extra for extra in extras if extra not in reach.extras]
    command += [argument for extra in own if extra in EXTRAS for argument in ("--extra", extra)]
    if any(extra not in EXTRAS for extra in own):
        # With packages of the user's own none of the known ones are installed, so that all are named.
        named = overrides.packages or [_DIGEST.sub("", extra) for extra in extras if extra not in EXTRAS]
        command += [argument for package in named for argument in ("--with", package)]
    for option, values in (("--import", overrides.imports), ("--not-claimed", overrides.not_claimed)):
        command += [argument for value in values for argument in (option, value)]
    return command + (["--on", overrides.device] if overrides.device else [])
