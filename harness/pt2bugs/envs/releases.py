"""The torch releases that there are, and those that ``--torch`` means."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import lru_cache
from pathlib import Path

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.tags import Tag, platform_tags
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import InvalidVersion, Version
from pt2bugs.case.versions import day_of
from pt2bugs.engine.folders import cache_home
from pt2bugs.envs.sources import Sources, endpoint
from pt2bugs.errors import InputError, NothingSelected, first_line

FIRST = Version("2.0")
"""The first release with torch.compile."""
NIGHTLY = "nightly:"
EXAMPLE = f"{NIGHTLY}2026-01-01..2026-03-01"


class ReleaseError(InputError):
    """No torch release fits, or the index cannot be asked.

    Cause: a ``--torch`` that matches nothing or does not parse, no network, an index that answers nonsense.
    Remedy: the message names the argument or the index, and what is there instead.
    """


@dataclass(frozen=True, order=True)
class Release:
    """A torch release that has a wheel for this platform. `pythons` are minor versions, as ``3.11``."""

    version: Version
    pythons: tuple[str, ...] = field(compare=False)

    def __str__(self) -> str:
        return str(self.version)


def available_releases(source: Sources) -> list[Release]:
    """Return every torch release from 2.0 on that has a wheel for this platform, pre-releases too, in order.

    Args:
        source: of packages.

    Raises:
        ReleaseError: the index cannot be reached, or does not answer as an index does.
    """
    pythons: dict[Version, set[str]] = {}
    for version, minors in _torch_wheels(
        [*_index_filenames("torch", endpoint(source)), *_folder_filenames(source.find_links, "torch")]
    ):
        pythons.setdefault(version, set()).update(minors)
    return [Release(version, tuple(sorted(minors, key=Version))) for version, minors in sorted(pythons.items())]


def package_versions(name: str, source: Sources) -> list[Version]:
    """Return every version of a package that has a wheel for this platform, or a source distribution, in order.

    A package in a folder of `find_links` comes from there alone, and one that an index has is asked of no further one:
    somebody else's package may have the name.

    Args:
        name: of the package.
        source: of packages.

    Raises:
        ReleaseError: no index can be asked, or none answers as one that has the package.
    """
    filenames = _folder_filenames(source.find_links, name)
    further = replace(source, index=source.companions or None, companions=None)
    for asked in [source] if source.companions is None else [source, further]:
        if filenames:
            break
        try:
            filenames = _index_filenames(name, endpoint(asked))
        except ReleaseError:
            if asked.companions is None:
                raise
    versions = set()
    for filename in filenames:
        with contextlib.suppress(InvalidWheelFilename, InvalidSdistFilename, InvalidVersion):
            if filename.endswith(".whl"):
                project, version, _, tags = parse_wheel_filename(filename)
                fits = any(tag.platform in _platforms() for tag in tags)
            else:
                project, version = parse_sdist_filename(filename)
                fits = True
            if project == canonicalize_name(name) and fits:
                versions.add(Version(version.public))
    return sorted(versions)


def _torch_wheels(filenames: Iterable[str]) -> Iterator[tuple[Version, set[str]]]:
    """Yield the release of each wheel of torch that can be installed here, and its Pythons."""
    for filename in filenames:
        with contextlib.suppress(InvalidWheelFilename, InvalidVersion):
            name, version, _, tags = parse_wheel_filename(filename)
            minors = {minor for tag in tags if (minor := _python_of(tag))}
            if name == "torch" and version >= FIRST and minors:
                yield Version(version.public), minors


def at_hand(source: Sources) -> set[str]:
    """Return the releases of torch in the folders of `find_links`, for which no index is asked.

    Args:
        source: of packages.
    """
    return {str(version) for version, _ in _torch_wheels(_folder_filenames(source.find_links, "torch"))}


def known_releases(source: Sources, warn: Callable[[str], None]) -> list[Release]:
    """Return `available_releases`; without a network, what the index listed the last time it was asked.

    Args:
        source: of packages.
        warn: told that the index cannot be asked.

    Raises:
        ReleaseError: the index cannot be asked, and never was.
    """
    digest = hashlib.sha256(repr(source).encode()).hexdigest()[:16]
    memory = cache_home() / "releases" / f"{digest}.json"
    try:
        releases = available_releases(source)
    except ReleaseError as error:
        try:
            known = json.loads(memory.read_text())
        except (OSError, ValueError):
            raise error from None
        warn(f"{error}; going by what it listed before")
        return [Release(Version(version), tuple(pythons)) for version, pythons in known]
    with contextlib.suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        memory.write_text(json.dumps([[str(release), release.pythons] for release in releases]))
    return releases


@lru_cache
def _platforms() -> frozenset[str]:
    return frozenset([*platform_tags(), "any"])


def _python_of(tag: Tag) -> str | None:
    if tag.platform not in _platforms():
        return None
    if tag.interpreter == "py3":
        return f"{sys.version_info.major}.{sys.version_info.minor}"
    cpython = re.fullmatch(r"cp3(\d+)", tag.interpreter)
    # Free-threaded builds (cp313t) are other environments, which nothing here asks for.
    return f"3.{cpython[1]}" if cpython and not tag.abi.endswith("t") else None


def _index_filenames(name: str, endpoint: str) -> list[str]:
    from pypi_simple import PyPISimple
    from requests import RequestException

    try:
        with PyPISimple(endpoint) as client:
            page = client.get_project_page(name, timeout=60)
    except RequestException as error:
        raise ReleaseError(
            f"the package index cannot be asked for {name} releases: {first_line(error)}; check the network, "
            "or name another index with --index"
        ) from None
    except Exception as error:
        raise ReleaseError(
            f"the package index did not answer as one for {name}; check --index "
            f"({type(error).__name__}: {first_line(error)})"
        ) from None
    return [package.filename for package in page.packages if not package.is_yanked]


def _folder_filenames(links: Iterable[str], package: str) -> list[str]:
    names = []
    for link in links:
        folder = Path(link.removeprefix("file://"))
        if folder.is_dir():
            files = (path.name for path in folder.iterdir() if path.name.endswith((".whl", ".tar.gz")))
            names += [name for name in files if canonicalize_name(name.split("-")[0]) == canonicalize_name(package)]
    return names


def minors(releases: Iterable[Release]) -> list[Release]:
    """Return the newest patch of every 2.x minor release.

    Args:
        releases: that there are.
    """
    newest: dict[tuple[int, int], Release] = {}
    for release in sorted(releases):
        if not release.version.is_prerelease:
            newest[release.version.major, release.version.minor] = release
    return list(newest.values())


@dataclass(frozen=True)
class Newest:
    """The newest patch release of a minor version (``2.13``), or of all (``latest``: `minor` is empty)."""

    minor: tuple[int, ...] = ()

    def of(self, releases: Iterable[Release]) -> list[Release]:
        """Return that release, alone; nothing if there is none.

        Args:
            releases: that there are.
        """
        finals = (release for release in releases if not release.version.is_prerelease)
        return sorted(release for release in finals if release.version.release[: len(self.minor)] == self.minor)[-1:]


@dataclass(frozen=True)
class Nightlies:
    """The nightly builds from `first` to `last`, both included. An index may lack any of the days."""

    first: date
    last: date

    @classmethod
    def parse(cls, spec: str) -> Nightlies:
        """Return the days that a word means; one day alone is ``nightly:2026-01-01``.

        Args:
            spec: the word.

        Raises:
            ValueError: a date is none, or the last day is before the first; the message says which.
        """
        first, separator, last = spec.removeprefix(NIGHTLY).partition("..")
        days = cls(_date(first), _date(last) if separator else _date(first))
        if days.last < days.first:
            raise ValueError(f"{days.last} is before {days.first}")
        return days

    def contains(self, version: Version) -> bool:
        """Return whether a version is the build of one of these days.

        Args:
            version: of torch.
        """
        day = day_of(version)
        return day is not None and self.first <= day <= self.last


def upcoming(versions: Iterable[Version]) -> list[Version]:
    """Return what ``next`` means: the newest nightly, and the release candidates of what is not released yet.

    Args:
        versions: that there are.
    """
    known = sorted(versions)
    released = [version for version in known if not version.is_prerelease]
    nightlies = [version for version in known if day_of(version) is not None]
    newest = max(nightlies, key=lambda version: (day_of(version), version), default=None)
    last = max(released, default=Version("0"))
    candidates = [version for version in known if version.pre and version.dev is None and version > last]
    return [*candidates, *([newest] if newest is not None and newest > last else [])]


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a date as 2026-01-31") from None


Request = Version | SpecifierSet | Nightlies | Newest | str

FORMS = (
    "2.9.1 (that release), 2.9 (its newest patch), latest, minors (the newest patch of every minor release), all, "
    f'">=2.6,<2.10", {EXAMPLE}, next (the newest nightly, and candidates of what is not released yet)'
)
"""Every form of a value of ``--torch``."""


def parse_request(specs: Sequence[str], option: str = "--torch ") -> list[Request]:
    """Return what the values of ``--torch`` ask for, in one of `FORMS`.

    Args:
        specs: the values.
        option: begins the error messages.

    Raises:
        ReleaseError: a value is none of these.
    """
    parsed: list[Request] = []
    for spec in specs:
        if spec in ("minors", "all", "next"):
            parsed.append(spec)
            continue
        if spec.startswith(NIGHTLY):
            try:
                parsed.append(Nightlies.parse(spec))
            except ValueError as error:
                raise ReleaseError(f"{option}{spec}: {error}; write for example {EXAMPLE}") from None
            continue
        if spec == "latest":
            parsed.append(Newest())
            continue
        if minor := re.fullmatch(r"(\d{1,6})\.(\d{1,6})", spec):
            parsed.append(Newest((int(minor[1]), int(minor[2]))))
            continue
        try:
            if spec.isdigit() or not spec.strip():
                raise InvalidVersion(spec)  # noqa: TRY301
            parsed.append(Version(spec) if spec[:1].isdigit() else SpecifierSet(spec))
        except (InvalidVersion, InvalidSpecifier):
            raise ReleaseError(f"{option}{spec}: not a release; write one of: {FORMS}") from None
    return parsed


def one_release_request(spec: str) -> Version | Newest:
    """Return what a word that names one release asks for: ``2.9.1``, ``2.13`` (its newest patch) or ``latest``.

    Args:
        spec: the word.

    Raises:
        ReleaseError: the word means several, or nothing.
    """
    (request,) = parse_request([spec], "")
    if not isinstance(request, (Version, Newest)):
        raise ReleaseError(f"{spec}: means several releases; name one: 2.9.1, 2.9 (its newest patch) or latest")
    return request


def one_release(spec: str, releases: Sequence[Release]) -> Release:
    """Return the release of `releases` that a word means, as `one_release_request` reads it.

    Args:
        spec: the word.
        releases: that there are.

    Raises:
        ReleaseError: the word means several, or none of these.
    """
    one_release_request(spec)
    return select_releases([spec], releases, "")[0]


def _nightlies_there(releases: Sequence[Release]) -> str:
    days = sorted(day for release in releases if (day := day_of(release.version)))
    if not days:
        return "the package index has no nightly builds of torch for this platform; name one that has with --index URL"
    return f"the package index has no nightly of these days; it has {len(days)} from {days[0]} to {days[-1]}"


def select_releases(specs: Sequence[str], releases: Sequence[Release], option: str = "--torch ") -> list[Release]:
    """Return the releases that the values of ``--torch`` mean, in version order.

    Pre-releases take part only when a value names them.

    Args:
        specs: the values.
        releases: that there are.
        option: begins the error messages.

    Raises:
        ReleaseError: a value does not parse, or matches no release.
        NothingSelected: there is nothing ``next``.
    """
    chosen: set[Release] = set()
    finals = [release for release in releases if not release.version.is_prerelease]
    for spec, request in zip(specs, parse_request(specs, option), strict=True):
        if isinstance(request, Newest):
            selected = request.of(releases)
        elif isinstance(request, str) and request == "next":
            versions = upcoming(release.version for release in releases)
            selected = [release for release in releases if release.version in versions]
            if not selected:
                raise NothingSelected(f"{option}next: there is nothing newer than the newest release")
        elif isinstance(request, str):
            selected = minors(releases) if request == "minors" else finals
        elif isinstance(request, Version):
            selected = [release for release in releases if release.version == Version(request.public)]
        elif isinstance(request, Nightlies):
            selected = [release for release in releases if request.contains(release.version)]
            if not selected:
                raise ReleaseError(f"{option}{spec}: {_nightlies_there(releases)}")
        else:
            names_prerelease = any(Version(part.version.rstrip(".*")).is_prerelease for part in request)
            pool = releases if names_prerelease else finals
            selected = [release for release in pool if request.contains(release.version, prereleases=True)]
        if not selected:
            newest = f"; the newest is {finals[-1]}" if finals else ""
            raise ReleaseError(f"{option}{spec}: matches no torch release for this platform{newest}")
        chosen.update(selected)
    return sorted(chosen)


def range_of(specs: Sequence[str], releases: Sequence[Release], *, patches: bool, candidates: bool) -> list[Release]:
    """Return the releases over which something is searched, oldest first: of a range the newest patch of each minor.

    Args:
        specs: values of ``--torch``; none mean all minor releases.
        releases: that there are.
        patches: whether every patch release of a range takes part.
        candidates: whether release candidates take part.

    Raises:
        ReleaseError: a value does not parse, or matches no release.
        InputError: fewer than two releases: nothing can change.
    """
    chosen: set[Release] = set()
    asked = list(specs) or ["all" if patches else "minors"]
    for spec, request in zip(asked, parse_request(asked), strict=True):
        matching = select_releases([spec if spec != "minors" else "all"], releases)
        if candidates:
            matching += _candidates_of(request, releases)
        if spec == "minors" or (isinstance(request, SpecifierSet) and not patches):
            matching = [*minors(matching), *(release for release in matching if release.version.is_prerelease)]
        chosen.update(matching)
    if len(chosen) < 2:
        named = " ".join(specs) or "minors"
        only = next(iter(chosen))
        hint = "" if patches else "; --patches takes every patch release"
        raise InputError(f"--torch {named}: only torch {only} is in this range, a bisection needs two{hint}")
    return sorted(chosen)


def _candidates_of(request: object, releases: Sequence[Release]) -> list[Release]:
    """Return the release candidates of a range; none for a word that names releases otherwise."""
    pool = [release for release in releases if release.version.pre is not None and release.version.dev is None]
    if isinstance(request, SpecifierSet):
        return [release for release in pool if request.contains(release.version, prereleases=True)]
    return pool if isinstance(request, str) else []
