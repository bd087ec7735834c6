"""The types of the messages that cross the processes of the engine as JSON: requests and answers.

Keys that may be absent stand in a class with ``total=False``: Python 3.10 has no other word for them. What an answer
carries from another room (an observation, the facts of an environment) is the `as_dict` of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any, Literal, TypedDict, final


class Needs(TypedDict):
    """Modules that a compile was seen to import."""

    modules: list[str]


# Client and zygote.


class _Confinement(TypedDict, total=False):
    """`offline`: the zygote leaves the network before it imports torch; `confined`: cells are in a sandbox."""

    offline: bool
    confined: bool


class Settings(_Confinement):
    """The first message to the zygote: see `EngineSettings`."""

    threads: int
    targets: Sequence[Sequence[str]]
    imports: Sequence[str]
    distributions: Sequence[str]


class Started(TypedDict, total=False):
    """Its answer: `facts` once torch was imported, with `warnings` for the user, or why that `failed`."""

    facts: dict[str, Any]
    warnings: list[str]
    failed: str


@final
class Provide(TypedDict):
    """Have what is forked from now on find these modules imported. The answer is empty. Supervisors take it, too."""

    provide: Needs


@final
class Open(TypedDict):
    """A supervisor for the socket that travels with it: `open` is its name, `instead_of` that of one to be ended."""

    open: str
    instead_of: str
    grace: Mapping[str, float]


@final
class Nothing(TypedDict):
    """No message: a process ended, or it is time to look for one that did."""


ToZygote = Provide | Open | Nothing


class Opened(TypedDict, total=False):
    """Empty, or why there is no supervisor."""

    failed: str


# Client and supervisor.


class Hello(TypedDict):
    """The first message of a supervisor: whether it has a namespace of its own, and what cells are not kept from."""

    namespace: bool
    unconfined: list[str]


class Setup(TypedDict):
    """Modules that a backend imports, and values of attributes by dotted module."""

    imports: list[str]
    settings: dict[str, dict[str, Any]]


class _Anywhere(TypedDict, total=False):
    """Way in which a cell is started: ``spawn`` for a fresh interpreter, which gets the variables of `env`.

    In a sandbox: whether the network is there; files and folders that it may `read` beside the folder of the file that
    it runs; folders that it may `write`, whose files are kept; and those of which it may change a `copy` of its own.
    `strict`: it does not run where the network cannot be taken away.
    """

    isolation: str
    env: Mapping[str, str]
    network: bool
    strict: bool
    read: Sequence[str]
    write: Sequence[str]
    copy: Sequence[str]


class OnFile(_Anywhere):
    """Keys of every request that runs a file."""

    path: str
    device: str
    threads: int
    timeout_s: float


class CheckRequest(OnFile):
    """One check of a case file; `setup` where its backend needs one."""

    kind: Literal["check"]
    check: str
    arguments: Mapping[str, str]
    compiles: bool
    setup: Setup | None


class CheckInCell(CheckRequest, total=False):
    """The request as its cell gets it: with the code of the file, where the supervisor could compile it."""

    code: CodeType | None


class CanaryRequest(_Anywhere):
    """A trivial compile; with `record_modules` also what tells the modules that most other programs need."""

    kind: Literal["canary"]
    device: str
    backend: str
    threads: int
    record_modules: bool
    setup: Setup | None


class CallRequest(_Anywhere):
    """A call of ``"MODULE:FUNCTION"`` with this request, see `call.run_call`. A room above adds keys in a subclass."""

    kind: Literal["call"]
    function: str


CellRequest = CheckRequest | CanaryRequest | CallRequest


class CellLimits(TypedDict):
    """The fields of `Limits`."""

    timeout_s: float
    memory_mib: int | None


@final
class Run(TypedDict):
    """Run a cell. The answer is `ChildExit.as_dict`."""

    request: CellRequest
    limits: CellLimits


ToSupervisor = Provide | Run


# What a cell reports: the frame ``report``, by the kind of request.


class CheckReport(TypedDict):
    """An `Observation`, and the exception that left the check as text."""

    observation: dict[str, Any]
    text: str


class CanaryReport(TypedDict, total=False):
    """`absent`: why the device is not there; `failed`: why the compile did; else the two others."""

    absent: str
    failed: str
    modules: list[str]
    device_name: str
