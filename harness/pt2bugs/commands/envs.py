"""`pt2bugs envs`: the environments, their size, and a disk budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, say
from pt2bugs.commands.options import EnvironmentOptions, option
from pt2bugs.commands.selection import open_store, releases_for, targets_for
from pt2bugs.envs.environment import Environment
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
    """Options of `envs`."""

    action: str = option(
        "ACTION",
        default="list",
        choices=("list", "create", "gc"),
        help="list them (the default), create those of --torch, or gc: remove the least recently used over the budget",
    )
    torch: Sequence[str] = option("--torch", default=(), metavar="SPEC", help="create: which releases")
    dry_run: bool = option("--dry-run", default=False, help="gc: say what would be removed, remove nothing")
    json: bool = option("--json", default=False, help="list: as JSON")


def run(options: Options) -> int:
    """Do what the action says: each is a query and its rendering. Return the exit code."""
    store = open_store(options)
    if options.action == "create":
        return create(options, store)
    if options.action == "gc":
        return collect(options, store)
    return render(options, store, store.sizes())


def create(options: Options, store: Store) -> int:
    """Make the environments of the releases asked for, and print where they are. Return the exit code.

    Args:
        store: the environments.

    Raises:
        InputError: no release is named.
        EnvironmentFailure: an environment cannot be made.
    """
    if not options.torch:
        raise InputError("envs create: say which releases with --torch")
    targets = targets_for(options, releases_for(options, options.torch))
    for target in targets:
        print(store.create(target.key, say, [planned.key for planned in targets]).path, flush=True)
    return OK


def collect(options: Options, store: Store) -> int:
    """Remove what is over the budget, or print what would go. Return the exit code.

    Args:
        store: the environments.
    """
    if options.dry_run:
        removable = store.to_remove(store.budget)
        for environment, freed in removable:
            print(f"{environment.key!s:40}  frees {format_size(freed):>9}  {environment.path}")
        left = store.total() - sum(freed for _, freed in removable)
        say(f"{len(removable)} environments would go; {format_size(left)} would be left of {format_size(store.budget)}")
        return OK
    removed = store.collect(store.budget, log=say)
    say(f"removed {len(removed)} environments; {format_size(store.total())} left")
    return OK


def render(options: Options, store: Store, sizes: Sequence[tuple[Environment, int, int]]) -> int:
    """Print the environments. Return the exit code.

    Args:
        store: the environments.
        sizes: each with its bytes, and those that no other has.
    """
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
