"""`pt2bugs envs`: the environments, their size, and a disk budget."""

from __future__ import annotations

import argparse

from pt2bugs.commands import OK
from pt2bugs.commands.common import add_environments, package_sources, print_json, releases_for, say, targets_for
from pt2bugs.envs.size import format_size, parse_size
from pt2bugs.envs.store import Store
from pt2bugs.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "create", "gc"), default="list")
    parser.add_argument("--torch", action="append", default=[], metavar="SPEC", help="create: which releases")
    parser.add_argument("--budget", metavar="SIZE", default="60G", help="gc: what all may take together (60G)")
    parser.add_argument("--json", action="store_true", help="list: as JSON")
    add_environments(parser)


def run(arguments: argparse.Namespace) -> int:
    store = Store(package_sources(arguments))
    actions = {"list": _list, "create": _create, "gc": _collect}
    return actions[arguments.action](store, arguments)


def _create(store: Store, arguments: argparse.Namespace) -> int:
    if not arguments.torch:
        raise InputError("envs create: say which releases with --torch")
    for target in targets_for(arguments, releases_for(arguments, arguments.torch)):
        print(store.create(target.key, say).path, flush=True)
    return OK


def _collect(store: Store, arguments: argparse.Namespace) -> int:
    try:
        budget = parse_size(arguments.budget)
    except ValueError as error:
        raise InputError(f"--budget: {error}") from None
    removed = store.collect(budget, talk=say)
    say(f"removed {len(removed)} environments; {format_size(store.total())} left")
    return OK


def _list(store: Store, arguments: argparse.Namespace) -> int:
    sizes = store.sizes()
    if arguments.json:
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
