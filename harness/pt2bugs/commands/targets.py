"""What the options of a command mean for environments: package sources, releases, targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pt2bugs.commands.console import say, warn
from pt2bugs.commands.options import BackendOptions, EnvironmentOptions, RunningOptions
from pt2bugs.errors import InputError

if TYPE_CHECKING:
    from pt2bugs.backends.reach import Reach
    from pt2bugs.engine.backend import BackendSetup
    from pt2bugs.envs.releases import Release
    from pt2bugs.envs.sources import Sources
    from pt2bugs.envs.store import Store
    from pt2bugs.run.schedule import RunOptions, Target


def run_options(options: RunningOptions) -> RunOptions:
    from pt2bugs.run.schedule import RunOptions, default_jobs

    return RunOptions(
        jobs=options.jobs or default_jobs(options.threads),
        repeat=options.repeat,
        confirm=options.confirm,
        threads=options.threads,
    )


def package_sources(options: EnvironmentOptions) -> Sources:
    from pt2bugs.envs.sources import sources

    return sources(options.index, options.find_links, options.torch_backend)


def open_store(options: EnvironmentOptions) -> Store:
    """The environments, with the sources and the budget asked for."""
    from pt2bugs.envs.store import Store

    return Store(package_sources(options), budget=options.budget)


def targets_for(options: EnvironmentOptions, releases: Sequence[Release], backends: Sequence[str] = ()) -> list[Target]:
    """The environments of these releases, as ``--python``, ``--index``, ``--extra`` and ``--with`` shape them.

    A backend asked for that needs packages, modules or settings has targets of its own, in the releases it is for.

    Raises:
        InputError: an unknown extra; a backend that is for none of the releases.
        EnvironmentFailure: no wheel for the Python asked for.
    """
    from pt2bugs.envs.environment import Key, choose_python
    from pt2bugs.run.schedule import Target

    index = package_sources(options).name
    found = []
    for shape in shapes_for(options, backends):
        fitting = [r for r in releases if shape.supports(str(r))]
        if not fitting:
            raise InputError(shape.nowhere(releases))
        found += [
            Target(
                Key(str(r), choose_python(r, options.python), shape.extras, index, shape.installs),
                setup=shape.setup,
                others=shape.others,
            )
            for r in fitting
        ]
    return found


def in_interpreter(options: BackendOptions, target: Target, backends: Sequence[str]) -> list[Target]:
    """The targets in an interpreter that exists: what a backend needs must be installed there.

    Raises:
        InputError: packages to install are named.
    """
    if options.packages:
        raise InputError("--with installs into an environment of its own: name its release with --torch")
    known_extras(options.extra)
    return [replace(target, setup=shape.setup, others=shape.others) for shape in shapes_for(options, backends)]


@dataclass(frozen=True)
class Shape:
    """What the targets of some backends have in common: of one with a `setup`, or of all but `others`."""

    extras: tuple[str, ...] = ()
    others: frozenset[str] = frozenset()
    reach: Reach | None = None

    @property
    def setup(self) -> BackendSetup | None:
        return self.reach.setup if self.reach else None

    @property
    def installs(self) -> tuple[tuple[str, str], ...]:
        return self.reach.installs if self.reach else ()

    def supports(self, torch: str) -> bool:
        return self.reach is None or self.reach.supports(torch)

    def nowhere(self, releases: Sequence[Release]) -> str:
        """Why the backend can be run in none of the releases."""
        if self.reach is None or self.reach.known is None:
            return "there is no release to run"
        asked = ", ".join(map(str, releases))
        specifiers = self.reach.known.torch
        return f"--backend {self.reach.name}: is for torch {specifiers}, not for {asked}; --with names other packages"


def shapes_for(options: EnvironmentOptions, backends: Sequence[str]) -> list[Shape]:
    """The shapes of the targets that these backends, or without any the headers', need.

    Raises:
        InputError: an unknown extra, or packages without the one backend that they are for.
    """
    from pt2bugs.backends.reach import special_reaches

    extras = known_extras(options.extra)
    own = options if isinstance(options, BackendOptions) else BackendOptions()
    special = special_reaches(backends, own.overrides)
    others = frozenset(special)
    shapes = [Shape(extras, others)] if not backends or set(backends) - others else []
    for reach in special.values():
        shapes.append(Shape(tuple(dict.fromkeys((*extras, *reach.extras))), reach=reach))
    return shapes


def one_shape(options: BackendOptions, backends: Sequence[str]) -> Target:
    """A target without a release, for commands that compare releases of one kind of environment.

    Raises:
        InputError: the backends need environments of several kinds.
    """
    from pt2bugs.envs.environment import Key
    from pt2bugs.run.schedule import Target

    shapes = shapes_for(options, backends)
    if len(shapes) != 1:
        raise InputError(f"--backend {' --backend '.join(backends)}: these need different environments; name one")
    return Target(Key("", "", shapes[0].extras), setup=shapes[0].setup, others=shapes[0].others)


def known_extras(names: Sequence[str]) -> tuple[str, ...]:
    """The extras, sorted.

    Raises:
        InputError: one is unknown.
    """
    from pt2bugs.envs.extras import EXTRAS

    for name in names:
        if name not in EXTRAS:
            raise InputError(f"--extra {name}: unknown; there is {', '.join(sorted(EXTRAS))}")
    return tuple(sorted(set(names)))


def releases_for(options: EnvironmentOptions, specs: Sequence[str]) -> list[Release]:
    """The releases that the values of ``--torch`` mean.

    Raises:
        ReleaseError: a value does not parse or matches nothing, or the index cannot be asked.
    """
    from pt2bugs.envs.releases import known_releases, parse_request, select_releases

    parse_request(specs)
    known = known_releases(package_sources(options), warn)
    tell_newest(specs, known)
    return select_releases(specs, known)


def tell_newest(specs: Sequence[str], releases: Sequence[Release]) -> None:
    """Say which release is meant by a word that leaves it open: ``2.13`` or ``latest``."""
    from pt2bugs.envs.releases import Newest, parse_request

    for spec, request in zip(specs, parse_request(specs), strict=True):
        if isinstance(request, Newest) and (found := request.of(releases)):
            say(f"{spec} is torch {found[0]}")
