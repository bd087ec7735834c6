"""`pt2bugs doctor`: whether this machine can run the suite, and what to do where it cannot."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict, dataclass

from pt2bugs.commands import OK, UNEXPECTED
from pt2bugs.commands.console import print_json
from pt2bugs.envs.machine import findings

EXAMPLES = (("pt2bugs doctor", "compiler, namespaces, uv, Pythons, disk, GPU, variables: each with its remedy"),)


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command takes."""

    json: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def run(options: Options) -> int:
    found = list(findings(os.environ))
    if options.json:
        print_json([asdict(one) for one in found])
    else:
        for one in found:
            mark = {True: "ok", False: "MISSING", None: "-"}[one.is_fine]
            print(f"{mark:7}  {one.name:12}  {one.seen}")
            if one.remedy:
                print(f"{'':23}{one.remedy}")
    return UNEXPECTED if any(one.is_fine is False for one in found) else OK
