"""The environments that a command makes and keeps from being removed until it ends."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import cached_property

from packaging.version import Version
from pt2bugs.envs.environment import Environment, Key, choose_python
from pt2bugs.envs.releases import Release, known_releases, one_release
from pt2bugs.envs.store import Store


class Environments:
    """Environments that are made when they are needed, and kept in use until these are closed.

    Args:
        store: makes them.
        say: told of every step.
        warn: told what is wrong with the index.
        python: a minor version; None for the one that fits a release.
        extras: of all of them.
    """

    def __init__(
        self,
        store: Store,
        say: Callable[[str], None],
        warn: Callable[[str], None],
        python: str | None = None,
        extras: Sequence[str] = (),
    ) -> None:
        self._store, self._say, self._warn = store, say, warn
        self._python, self._extras = python, tuple(extras)
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Environments:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @cached_property
    def releases(self) -> list[Release]:
        """The releases that there are."""
        return known_releases(self._store.source, self._warn)

    def release(self, spec: str) -> str:
        """Return the release that a word means.

        Args:
            spec: the word.

        Raises:
            ReleaseError: it means several, or none.
        """
        return str(one_release(spec, self.releases))

    def of(self, *releases: str, installs: Sequence[tuple[str, str]] = ()) -> list[Environment]:
        """Return the environments of releases.

        Args:
            releases: public versions.
            installs: further packages, as those of `envs.environment.Key`.

        Raises:
            EnvironmentFailure: one of them cannot be made.
        """
        known = {str(release): release for release in self.releases}
        wanted = [known.get(name) or Release(Version(name), ()) for name in releases]
        extras = (*self._extras, *(word for word, _ in installs))
        index = self._store.source.name
        keys = [
            Key(str(release), choose_python(release, self._python), extras, index, tuple(installs))
            for release in wanted
        ]
        return [self.made(key, keys) for key in keys]

    def made(self, key: Key, keep: Sequence[Key] = ()) -> Environment:
        """Return an environment, and keep it in use.

        Args:
            key: of the environment.
            keep: others that stay whatever the budget says.

        Raises:
            EnvironmentFailure: it cannot be made.
        """
        environment = self._store.create(key, self._say, keep=keep)
        self._stack.enter_context(self._store.using(environment))
        return environment

    def at_hand(self, release: str) -> Environment | None:
        """Return an environment of a release if there is one; none is made.

        Args:
            release: a public version.
        """
        return next((there for there in self._store.environments() if there.key.torch == release), None)
