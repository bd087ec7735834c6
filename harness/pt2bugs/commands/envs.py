"""`pt2bugs envs`: the environments, their size, and a disk budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pt2bugs.case.vocabulary import number_of
from pt2bugs.commands import OK
from pt2bugs.commands.console import print_json, print_table, say
from pt2bugs.commands.options import EnvironmentOptions, option
from pt2bugs.commands.selection import open_store, releases_for, targets_for
from pt2bugs.envs.environment import Environment, Key
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
        "list|create|gc",
        default="list",
        choices=("list", "create", "gc"),
        help="list them (the default), create those of --torch, or gc; "
        "that removes the least recently used over the budget",
    )
    torch: Sequence[str] = option("--torch", default=(), metavar="SPEC", help="create: which releases")
    dry_run: bool = option("--dry-run", default=False, help="gc: say what would be removed, remove nothing")
    json: bool = option("--json", default=False, help="list: as JSON")


def run(options: Options) -> int:
    """List: query, render. Create: plan, make, render each. Collect: query, remove, render. Return the exit code.

    Args:
        options: of the command.
    """
    store = open_store(options)
    if options.action == "create":
        return render_made(make(store, plan(options)))
    if options.action == "gc":
        return render_removable(store, store.to_remove(store.budget)) if options.dry_run else collect(store)
    return render(options, store, store.sizes())


# --- create --------------------------------------------------------------------------------------------


def plan(options: Options) -> list[Key]:
    """Return the environments of the releases asked for.

    Args:
        options: of the command.

    Raises:
        InputError: no release is named.
    """
    if not options.torch:
        raise InputError("envs create: say which releases with --torch")
    return [target.key for target in targets_for(options, releases_for(options, options.torch))]


def make(store: Store, keys: Sequence[Key]) -> Iterator[Environment]:
    """Make environments; yield each when it is there.

    Args:
        store: of the environments.
        keys: those that are wanted.

    Raises:
        EnvironmentFailure: one cannot be made.
    """
    for key in keys:
        yield store.create(key, say, keys)


def render_made(environments: Iterable[Environment]) -> int:
    """Print where environments are. Return the exit code.

    Args:
        environments: as they are made.
    """
    for environment in environments:
        print(environment.path, flush=True)
    return OK


# --- gc ------------------------------------------------------------------------------------------------


def collect(store: Store) -> int:
    """Remove what is over the budget, and say how much is left. Return the exit code.

    Args:
        store: of the environments.
    """
    removed = store.collect(store.budget, log=say)
    say(f"removed {number_of(len(removed), 'environment')}; {format_size(store.total())} left")
    return OK


def render_removable(store: Store, removable: Sequence[tuple[Environment, int]]) -> int:
    """Print what would be removed. Return the exit code.

    Args:
        store: of the environments.
        removable: each with the bytes that it frees.
    """
    print_table(
        [
            (f"frees {format_size(freed):>9}", f"{environment.key}  {environment.path}")
            for environment, freed in removable
        ]
    )
    left = store.total() - sum(freed for _, freed in removable)
    rest = f"{format_size(left)} would be left of {format_size(store.budget)}"
    say(f"{number_of(len(removable), 'environment')} would go; {rest}")
    return OK


# --- list ----------------------------------------------------------------------------------------------


def render(options: Options, store: Store, sizes: Sequence[tuple[Environment, int, int]]) -> int:
    """Print the environments. Return the exit code.

    Args:
        options: of the command.
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
    print_table(
        [
            (f"{format_size(size):>9}", f"{format_size(own):>9} own", f"{environment.key}  {environment.path}")
            for environment, size, own in sizes
        ]
    )
    say(f"{number_of(len(sizes), 'environment')}, {format_size(store.total())} with the cache they share")
    return OK
