"""What the options of a command mean for environments: package sources, releases, targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pt2bugs.commands.console import warn
from pt2bugs.commands.options import EnvironmentOptions, RunningOptions
from pt2bugs.errors import InputError

if TYPE_CHECKING:
    from pt2bugs.envs.releases import Release
    from pt2bugs.envs.sources import Sources
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

    return sources(options.index, options.find_links)


def targets_for(options: EnvironmentOptions, releases: Sequence[Release]) -> list[Target]:
    """The environments of these releases, as ``--python``, ``--index`` and ``--extra`` shape them.

    Raises:
        InputError: an unknown extra.
        EnvironmentFailure: no wheel for the Python asked for.
    """
    from pt2bugs.envs.environment import Key, choose_python
    from pt2bugs.run.schedule import Target

    extras = known_extras(options.extra)
    index = package_sources(options).index or ""
    return [Target(Key(str(r), choose_python(r, options.python), extras, index)) for r in releases]


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


def releases_for(options: EnvironmentOptions, words: Sequence[str]) -> list[Release]:
    """The releases that the values of ``--torch`` mean.

    Raises:
        ReleaseError: a value does not parse or matches nothing, or the index cannot be asked.
    """
    from pt2bugs.envs.releases import known_releases, parse_request, select_releases

    parse_request(words)
    return select_releases(words, known_releases(package_sources(options), warn))
