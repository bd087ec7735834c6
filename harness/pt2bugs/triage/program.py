"""The program that is triaged: a script, or the file of a case."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from pathlib import Path

from pt2bugs.case.header import find_block
from pt2bugs.errors import InputError

MAX_BYTES = 2_000_000


class CannotRun(InputError):
    """The program cannot be run here: a syntax error, a missing module, no GPU, nobody to ask."""


@dataclass(frozen=True)
class Program:
    """A program on disk. `source` is its text."""

    path: Path
    source: str

    @property
    def name(self) -> str:
        return self.path.stem


def load_program(path: Path) -> Program:
    """Read a program and see that it is Python.

    Args:
        path: of the script.

    Raises:
        CannotRun: it is not there, not text, or not Python.
    """
    if not path.is_file():
        raise CannotRun(f"{path}: there is no such file")
    if path.suffix == ".ipynb":
        raise CannotRun(f"{path}: is a notebook; save its code as a script (jupyter nbconvert --to script)")
    if path.stat().st_size > MAX_BYTES:
        raise CannotRun(f"{path}: has more than {MAX_BYTES:,} bytes; give it the program alone")
    try:
        # An editor of Windows may have put a byte order mark before it, which Python passes over.
        source = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotRun(f"{path}: is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise CannotRun(f"{path}: cannot be read as text: {error}") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except SyntaxError as error:
        raise CannotRun(f"{path}:{error.lineno}: is not Python: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise CannotRun(f"{path}: is not Python that can be parsed: {error or type(error).__name__}") from None
    return Program(path.resolve(), source)


def expects_exception(source: str, line: int) -> bool:
    """Return whether a statement is reached only if an exception that the program expects does not come.

    It stands in the ``else`` of a ``try``, or after one whose handlers all leave.

    Args:
        source: of the program.
        line: of the statement.
    """
    for node in ast.walk(ast.parse(source)):
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            for index, statement in enumerate(block if isinstance(block, list) else ()):
                while isinstance(statement, (ast.With, ast.AsyncWith)):
                    statement = statement.body[-1]
                if not isinstance(statement, ast.Try) or not statement.handlers:
                    continue
                leave = all(isinstance(handler.body[-1], _LEAVING) for handler in statement.handlers)
                unreached = [*statement.orelse, *(block[index + 1 :] if leave and isinstance(block, list) else ())]
                if any(
                    isinstance(other, (ast.Raise, ast.Assert)) and other.lineno <= line <= (other.end_lineno or line)
                    for other in unreached
                ):
                    return True
    return False


_LEAVING = (ast.Return, ast.Continue, ast.Break)


def is_unused(source: str, module: str) -> bool:
    """Return whether a program imports a module and uses nothing of it.

    Args:
        source: of the program.
        module: its name.
    """
    return without_import(source, module) is not None


def without_import(source: str, module: str) -> str | None:
    """Return a program without its imports of a module, its lines where they were; None if it uses what they bring.

    Args:
        source: of the program.
        module: its name.
    """
    tree = ast.parse(source)
    top = module.partition(".")[0]
    lines = source.splitlines(keepends=True)
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import) and any(alias.name.partition(".")[0] == top for alias in node.names):
            kept = [alias for alias in node.names if alias.name.partition(".")[0] != top]
            gone = [alias for alias in node.names if alias not in kept]
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == top:
            kept, gone = [], node.names
        else:
            continue
        names |= {alias.asname or alias.name.partition(".")[0] for alias in gone}
        text = f"import {', '.join(ast.unparse(alias) for alias in kept)}" if kept else "pass"
        end = node.end_lineno or node.lineno
        lines[node.lineno - 1 : end] = [f"{text}\n", *["\n"] * (end - node.lineno)]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return "".join(lines) if names and "*" not in names and not names & used else None


def without_header(source: str) -> str:
    """Return a program without its inline script metadata, if it has any.

    Args:
        source: of the program.
    """
    block = find_block(source)
    return block.program.lstrip("\n") if block is not None else source
