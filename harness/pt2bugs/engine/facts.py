"""What is known of an environment once torch was imported in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class EnvironmentFacts:
    """Facts of one environment. Before torch was imported, and of one that cannot import it, they are empty.

    Args:
        torch: its version, with the local part: ``2.13.0+cpu``.
        torch_git: the commit that torch was built from; empty if it does not say.
        python: the version of the interpreter, all three parts.
        platform: the operating system, as `platform.platform` names it.
        cpu_capability: the vector instructions that torch uses, in its own words: ``AVX2``.
        device_name: of the CPU; that of another device is known from its canary.
        memory: the folder of what the environment remembers between runs.
        known_targets: devices and backends of which it remembers what a compile needs, see `warmup.is_known`.
        paths: folders that must not show in results, and the word that stands for each; empty: it is left out.
        distributions: versions of those packages that were asked for and are installed, by name.
    """

    torch: str = ""
    torch_git: str = ""
    python: str = ""
    platform: str = ""
    cpu_capability: str = ""
    device_name: str = ""
    memory: str = ""
    known_targets: tuple[str, ...] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    distributions: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As they travel in JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EnvironmentFacts:
        """Of what arrived as JSON, which has no tuples."""
        return cls(**{**data, "known_targets": tuple(data["known_targets"])})
