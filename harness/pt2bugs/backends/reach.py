"""How each backend asked for is reached: in which environment, with which imports and settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pt2bugs.backends.known import KnownBackend, known_backends
from pt2bugs.case.cells import Cell
from pt2bugs.engine.backend import BackendSetup
from pt2bugs.envs.packages import package_word
from pt2bugs.errors import InputError


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


def reach_of(
    name: str, packages: Sequence[str] = (), imports: Sequence[str] = (), not_claimed: Sequence[str] = ()
) -> Reach:
    """How a backend is reached. What the user says counts before what is known of it.

    Raises:
        InputError: a package is neither a requirement nor a path.
    """
    known = known_backends().get(name)
    setup = known.setup if known else BackendSetup(name, name)
    if imports:
        setup = replace(setup, imports=tuple(imports))
    if not_claimed:
        setup = replace(setup, not_claimed=tuple(not_claimed))
    extras = (known.extra,) if known and known.extra and not packages else ()
    words = [package_word(text) for text in packages or (known.packages if known else ())]
    # Whoever names packages decides for which torch they are.
    return Reach(setup, (*extras, *(word for word, _ in words)), tuple(words), known if not packages else None)


def special_reaches(
    backends: Iterable[str], packages: Sequence[str] = (), imports: Sequence[str] = (), not_claimed: Sequence[str] = ()
) -> dict[str, Reach]:
    """Those of the backends that torch does not find by their name alone, by name.

    Raises:
        InputError: packages, modules or claims are named, but not the one backend that they are for.
    """
    names = list(dict.fromkeys(backends))
    if (packages or imports or not_claimed) and len(names) != 1:
        option = "--with" if packages else "--import" if imports else "--not-claimed"
        raise InputError(f"{option} is for one backend: name it, and no other, with --backend")
    found = {name: reach_of(name, packages, imports, not_claimed) for name in names}
    return {name: reach for name, reach in found.items() if reach.extras or reach.setup != BackendSetup(name, name)}


def on_its_device(cells: Iterable[Cell], reaches: dict[str, Reach]) -> list[Cell]:
    """The cells, with the CPU replaced where the backend is one of another device."""
    return [
        replace(cell, device=device)
        if cell.device == "cpu" and cell.backend in reaches and (device := reaches[cell.backend].setup.device)
        else cell
        for cell in cells
    ]
