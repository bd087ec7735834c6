"""`pt2bugs envs`: the environments, their size, and a disk budget."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say
from pt2bugs.commands.options import EnvironmentOptions, add_environments
from pt2bugs.commands.targets import open_store, releases_for, targets_for
from pt2bugs.envs.size import format_size
from pt2bugs.envs.store import Store
from pt2bugs.errors import InputError

EXAMPLES = (
    ("pt2bugs envs", "the environments with their sizes"),
    ("pt2bugs envs create --torch 2.13 --torch-backend cpu", "an environment with the CPU build of torch"),
    ("pt2bugs envs gc --budget 20G --dry-run", "what would be removed to stay below 20 GiB"),
)


@dataclass(frozen=True, kw_only=True)
class Options(EnvironmentOptions):
    """What the command takes."""

    action: str = "list"
    torch: Sequence[str] = ()
    dry_run: bool = False
    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=("list", "create", "gc"),
        default="list",
        help="list them (the default), create those of --torch, or gc: remove the least recently used over the budget",
    )
    parser.add_argument("--torch", action="append", default=[], metavar="SPEC", help="create: which releases")
    parser.add_argument("--dry-run", action="store_true", help="gc: say what would be removed, remove nothing")
    parser.add_argument("--json", action="store_true", help="list: as JSON")
    add_environments(parser)


def run(options: Options) -> int:
    store = open_store(options)
    actions = {"list": _list, "create": _create, "gc": _collect}
    return actions[options.action](store, options)


def _create(store: Store, options: Options) -> int:
    if not options.torch:
        raise InputError("envs create: say which releases with --torch")
    targets = targets_for(options, releases_for(options, options.torch))
    for target in targets:
        print(store.create(target.key, say, [one.key for one in targets]).path, flush=True)
    return OK


def _collect(store: Store, options: Options) -> int:
    if options.dry_run:
        found = store.to_remove(store.budget)
        for environment, freed in found:
            print(f"{environment.key!s:40}  frees {format_size(freed):>9}  {environment.path}")
        left = store.total() - sum(freed for _, freed in found)
        say(f"{len(found)} environments would go; {format_size(left)} would be left of {format_size(store.budget)}")
        return OK
    removed = store.collect(store.budget, log=say)
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
