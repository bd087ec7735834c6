"""The shapes of what crosses the processes of the engine as JSON: what is asked, and what is answered.

Keys that may be absent stand in a class with ``total=False``: Python 3.10 has no other word for them. What an answer
carries from another room (an observation, the facts of an environment) is the `as_dict` of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import CodeType
from typing import Any, Literal, TypedDict, final


class Needs(TypedDict):
    """What a compile was seen to need: the modules it imported."""

    modules: list[str]


# Client and zygote.


class Settings(TypedDict):
    """The first message to the zygote: see `EngineSettings`."""

    threads: int
    targets: Sequence[Sequence[str]]
    imports: Sequence[str]
    distributions: Sequence[str]


class Started(TypedDict, total=False):
    """Its answer: `facts` once torch was imported, or why that `failed`."""

    facts: dict[str, Any]
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
    """The first message of a supervisor: whether it has a namespace of its own."""

    namespace: bool


class Setup(TypedDict):
    """What a backend needs: modules to import, and values of attributes by dotted module."""

    imports: list[str]
    settings: dict[str, dict[str, Any]]


class _Anywhere(TypedDict, total=False):
    """How a cell is started: ``spawn`` for a fresh interpreter, which gets the variables of `env`."""

    isolation: str
    env: Mapping[str, str]


class OnFile(_Anywhere):
    """What every request has that runs a file."""

    path: str
    device: str
    threads: int
    timeout_s: float


class OnCheck(OnFile):
    """What every request has that calls a check."""

    check: str
    arguments: Mapping[str, str]


class CheckRequest(OnCheck):
    """One check of a case file; `setup` where its backend needs one."""

    kind: Literal["check"]
    compiles: bool
    setup: Setup | None


class CheckInCell(CheckRequest, total=False):
    """As its cell gets it: with the code of the file, where the supervisor could compile it."""

    code: CodeType | None


class ProgramRequest(OnCheck):
    """A check without the compiler; where it is empty, the file as `python FILE` runs it."""

    kind: Literal["program"]


class RedirectedRequest(OnFile):
    """A file with its compiler redirected, see `redirect.install`.

    `stdout`: whether what it prints is reported; `unit_test`: whether its tests are what runs; `beside`: a further
    folder whose modules it may import, or empty.
    """

    kind: Literal["redirected"]
    argv: Sequence[str]
    redirect: Mapping[str, Any]
    stdout: bool
    unit_test: bool
    beside: str


class CanaryRequest(_Anywhere):
    """A trivial compile; with `record_modules` also what tells the modules that most other programs need."""

    kind: Literal["canary"]
    device: str
    backend: str
    threads: int
    record_modules: bool
    setup: Setup | None


CellRequest = CheckRequest | ProgramRequest | RedirectedRequest | CanaryRequest


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


class Counts(TypedDict):
    """What Dynamo counted, and what torch's own bisector did."""

    graphs: int
    breaks: int
    recompiles: int
    applied: dict[str, int]


class RedirectedReport(CheckReport, Counts):
    """What a program asked of the compiler, see `redirect.Entries`."""

    entered: list[str]
    backends: list[str]
    own_backend: bool
    own_compilers: bool
    caught: list[dict[str, Any]]
    absent: list[str]
    disabled: str
    handled: list[list[str]]
    lines: list[int]
    stdout: str


class CanaryReport(TypedDict, total=False):
    """`absent`: why the device is not there; `failed`: why the compile did; else the two others."""

    absent: str
    failed: str
    modules: list[str]
    device_name: str
