"""`pt2bugs envs`: the environments, their size, and a disk budget."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say
from pt2bugs.commands.options import EnvironmentOptions, add_environments
from pt2bugs.commands.targets import package_sources, releases_for, targets_for
from pt2bugs.envs.size import format_size, parse_size
from pt2bugs.envs.store import Store
from pt2bugs.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Options(EnvironmentOptions):
    """What the command takes."""

    action: str = "list"
    torch: Sequence[str] = ()
    budget: str = "60G"
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "create", "gc"), default="list")
    parser.add_argument("--torch", action="append", default=[], metavar="SPEC", help="create: which releases")
    parser.add_argument("--budget", metavar="SIZE", default="60G", help="gc: what all may take together (60G)")
    parser.add_argument("--json", action="store_true", help="list: as JSON")
    add_environments(parser)


def run(options: Options) -> int:
    store = Store(package_sources(options))
    actions = {"list": _list, "create": _create, "gc": _collect}
    return actions[options.action](store, options)


def _create(store: Store, options: Options) -> int:
    if not options.torch:
        raise InputError("envs create: say which releases with --torch")
    for target in targets_for(options, releases_for(options, options.torch)):
        print(store.create(target.key, say).path, flush=True)
    return OK


def _collect(store: Store, options: Options) -> int:
    try:
        budget = parse_size(options.budget)
    except ValueError as error:
        raise InputError(f"--budget: {error}") from None
    removed = store.collect(budget, talk=say)
    say(f"removed {len(removed)} environments; {format_size(store.total())} left")
    return OK


def _list(store: Store, options: Options) -> int:
    sizes = store.sizes()
    if options.json:
        print_json(
            [
                {
                    "torch": environment.key.torch,
                    "python": environment.key.python,
                    "extras": list(environment.key.extras),
                    "index": environment.key.index,
                    "path": str(environment.path),
                    "bytes": size,
                    "bytes_own": own,
                }
                for environment, size, own in sizes
            ]
        )
        return OK
    for environment, size, own in sizes:
        print(f"{environment.key!s:40}  {format_size(size):>9}  {format_size(own):>9} own  {environment.path}")
    say(f"{len(sizes)} environments, {format_size(store.total())} with the cache they share")
    return OK
