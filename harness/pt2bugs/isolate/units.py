"""Units of two wheels: the functions, statements and headers in which two releases differ, and mixtures of their texts.

A Python file is a tree of items: functions, classes with items of their own, and other statements. An item that
differs, or that one release lacks, is a unit. A selection of units, put into the bad release's text, is a candidate
for the fix; the mirrored selection, put into the good release's text, takes it back.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import difflib
import gc
import re
import symtable
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MIRRORED = {"changed": "changed", "added": "removed", "removed": "added"}
_LEFT_OUT = re.compile(r"(^|/)version\.py$|^testing/|^_C/|^_vendor/|\.pyi$")


class PatchError(Exception):
    """A selection of units that gives no text which Python can parse."""


@dataclass(frozen=True, order=True)
class Unit:
    """One place where two releases differ.

    `file` is relative to the torch folder; `qualname` the dotted name, of a statement what it binds or its text;
    `kind` is ``function``, ``class`` (of one that both have its head alone), ``import``, ``statement``, ``header`` or
    ``file`` (a new module);
    `change` says what the good release did: ``changed``, ``added`` or ``removed``. `ordinal` counts items of one name.
    """

    file: str
    qualname: str
    kind: str
    change: str
    ordinal: int = 1

    @property
    def key(self) -> Key:
        """The key by which its item is looked up on either side."""
        return self.kind, self.qualname, self.ordinal

    @property
    def mirrored(self) -> Unit:
        """The same place, seen from the other release."""
        return replace(self, change=_MIRRORED[self.change])

    def as_dict(self) -> dict[str, str]:
        """Return the unit as results have it."""
        return {"file": self.file, "qualname": self.qualname, "kind": self.kind}

    def __str__(self) -> str:
        return f"{self.file}: {self.qualname}" if self.qualname else self.file


Key = tuple[str, str, int]
Selection = Mapping[Unit, "frozenset[int] | None"]
"""Units taken from the good release: whole (None), or those of their hunks."""


@dataclass
class Item:
    """A statement with the lines it takes, from 1: decorators included, the end excluded."""

    key: Key
    node: ast.stmt
    start: int
    end: int
    owner: Item | None = None
    children: list[Item] = field(default_factory=list)


class SourceFile:
    """A Python file of one release.

    Raises:
        PatchError: Python cannot parse it.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.splitlines(keepends=True)
        if self.lines and not self.lines[-1].endswith("\n"):
            self.lines[-1] += "\n"
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise PatchError(str(error)) from None
        self.items = self._items(tree.body, None)
        self.by_key = {item.key: item for item in _walk(self.items)}

    def _items(self, body: Sequence[ast.stmt], owner: Item | None) -> list[Item]:
        items: list[Item] = []
        counts: Counter[tuple[str, str]] = Counter()
        for node in body:
            kind, name = _kind_and_name(node)
            name = f"{owner.key[1]}.{name}" if owner else name
            counts[kind, name] += 1
            start = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
            end = (node.end_lineno or node.lineno) + 1
            if items and start < items[-1].end:
                # Statements on one line are taken together.
                items[-1].end = max(end, items[-1].end)
                continue
            item = Item((kind, name, counts[kind, name]), node, start, end, owner)
            if isinstance(node, ast.ClassDef):
                item.children = self._items(node.body, item)
            items.append(item)
        return items

    @cached_property
    def imports(self) -> frozenset[str]:
        """Imports at the top level of the file, as statements of a single name each."""
        return frozenset(text for item in self.items if item.key[0] == "import" for text in _import_texts(item.node))

    @cached_property
    def import_line(self) -> int:
        """The line before which a further import goes: after the leading ones."""
        line = 1
        for item in self.items:
            if item.key[0] in ("function", "class"):
                break
            if item.key[0] in ("import", "docstring"):
                line = item.end
        return line

    def span(self, item: Item) -> tuple[int, int]:
        """Return the lines of an item as a unit, the end excluded; of a class those before its first statement.

        Args:
            item: of this file.
        """
        return item.start, item.children[0].start if item.children else item.end

    def item_at(self, line: int) -> Item | None:
        """Return the innermost item that holds a line.

        Args:
            line: from 1.
        """
        item, items = None, self.items
        while inner := next((candidate for candidate in items if candidate.start <= line < candidate.end), None):
            item, items = inner, inner.children
        return item


def _walk(items: Iterable[Item]) -> Iterator[Item]:
    for item in items:
        yield item
        yield from _walk(item.children)


def _kind_and_name(node: ast.stmt) -> tuple[str, str]:
    if isinstance(node, FUNCTIONS):
        # Functions that are only registered share a name; what they are registered for tells them apart.
        registered = (
            f"@{' '.join(ast.unparse(decorator) for decorator in node.decorator_list)}" if node.name == "_" else ""
        )
        return "function", _short(node.name + registered)
    if isinstance(node, ast.ClassDef):
        return "class", node.name
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return "import", _short(ast.unparse(node))
    if isinstance(node, ast.Assign):
        return "statement", _short(" = ".join(ast.unparse(target) for target in node.targets))
    if isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        return "statement", _short(ast.unparse(node.target))
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return "docstring", "docstring"
    if isinstance(node, ast.If):
        return "statement", _short(f"if {ast.unparse(node.test)}")
    return "statement", _short(ast.unparse(node))


def _short(text: str) -> str:
    return " ".join(text.split())[:80]


def _import_texts(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield ast.unparse(ast.Import(names=[alias]))
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield ast.unparse(ast.ImportFrom(module=node.module, names=[alias], level=node.level))


def _same_code(old: object, new: object) -> bool:
    """Return whether two nodes are the same but for places, docstrings and comments."""
    if isinstance(old, ast.AST):
        names = old._fields
        return type(old) is type(new) and all(_same_code(_field(old, name), _field(new, name)) for name in names)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same_code, old, new))
    return repr(old) == repr(new)


def _field(node: ast.AST, name: str) -> object:
    value = getattr(node, name, None)
    if name == "body" and isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return node.body[ast.get_docstring(node, clean=False) is not None :]
    return value


def _head(node: ast.ClassDef) -> str:
    return " ".join(ast.dump(part) for part in (*node.decorator_list, *node.bases, *node.keywords))


class FilePair:
    """A Python file in both releases."""

    def __init__(self, file: str, bad: SourceFile, good: SourceFile, mirror: FilePair | None = None) -> None:
        self.file, self.bad, self.good = file, bad, good
        self._mirror = mirror
        self._hunks: dict[Unit, list[tuple[int, int, int, int]]] = {}

    def mirrored(self) -> FilePair:
        """Return the same pair with its sides exchanged; hunks keep their numbers."""
        return FilePair(self.file, self.good, self.bad, self)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Everything in which the two differ but docstrings, comments and imports that are gone."""
        imports = sorted(self.good.imports - self.bad.imports)
        added = [Unit(self.file, text, "import", "added") for text in imports]
        return (*added, *self._compare(self.bad.items, self.good.items))

    def _compare(self, bad: Sequence[Item], good: Sequence[Item]) -> Iterator[Unit]:
        left = {item.key: item for item in bad if item.key[0] not in ("docstring", "import")}
        for item in good:
            if item.key[0] in ("docstring", "import"):
                continue
            before = left.pop(item.key, None)
            if before is None:
                yield self._unit(item, "added")
            elif self.bad.lines[before.start - 1 : before.end - 1] == self.good.lines[item.start - 1 : item.end - 1]:
                continue
            elif isinstance(before.node, ast.ClassDef) and isinstance(item.node, ast.ClassDef):
                if _head(before.node) != _head(item.node):
                    yield self._unit(item, "changed")
                yield from self._compare(before.children, item.children)
            elif not _same_code(before.node, item.node):
                yield self._unit(item, "changed")
        for item in left.values():
            yield self._unit(item, "removed")

    def _unit(self, item: Item, change: str) -> Unit:
        kind, name, ordinal = item.key
        return Unit(self.file, name, kind, change, ordinal)

    def hunks(self, unit: Unit) -> list[tuple[int, int, int, int]]:
        """Return where a changed unit differs: start and end in the bad text, start and end in the good one.

        Args:
            unit: one of `units` whose `change` is ``changed``.
        """
        if self._mirror is not None:
            return [(j1, j2, i1, i2) for i1, i2, j1, j2 in self._mirror.hunks(unit.mirrored)]
        if unit not in self._hunks:
            i, i_end = self.bad.span(self.bad.by_key[unit.key])
            j, j_end = self.good.span(self.good.by_key[unit.key])
            before, after = self.bad.lines[i - 1 : i_end - 1], self.good.lines[j - 1 : j_end - 1]
            self._hunks[unit] = [(i + i1, i + i2, j + j1, j + j2) for i1, i2, j1, j2 in _differences(before, after)]
        return self._hunks[unit]

    def mixed(self, selection: Selection) -> Mixture:
        """Return the bad release's text with the selected units of the good one; whether it parses is not asked.

        Args:
            selection: units of this file; those of others are left out.

        Raises:
            PatchError: units overlap, or one has no place there.
        """
        edits: list[_Edit] = []
        for unit in selection:
            if unit.file != self.file:
                continue
            if unit.kind == "import":
                if unit.change == "added":
                    line = self.bad.import_line
                    edits.append(_Edit(line, line, 0, (f"{unit.qualname}\n",), unit))
            elif unit.change == "changed":
                hunks, chosen = self.hunks(unit), selection[unit]
                for index, (i1, i2, j1, j2) in enumerate(hunks):
                    if chosen is None or index in chosen:
                        edits.append(_Edit(i1, i2, j1, tuple(self.good.lines[j1 - 1 : j2 - 1])))
            elif unit.change == "removed":
                item = self.bad.by_key[unit.key]
                edits.append(_Edit(item.start, item.end, 0, ()))
            else:
                item = self.good.by_key[unit.key]
                line = self._place_of(item)
                added = ("\n", *self.good.lines[item.start - 1 : item.end - 1])
                edits.append(_Edit(line, line, item.start, added, unit))
        text, lines = _edited(self.bad.lines, edits)
        for unit in selection:
            if unit.file == self.file and unit.change == "changed":
                start = self.bad.by_key[unit.key].start
                before = (edit for edit in edits if edit.precedes(start))
                lines[unit] = start + sum(len(edit.new) - (edit.end - edit.start) for edit in before)
        return Mixture(text, lines)

    def _place_of(self, item: Item) -> int:
        """Return the line of the bad text before which an item of the good one goes: after what it follows there."""
        if item.owner is None:
            siblings, there = self.good.items, self.bad.items
        elif (owner := self.bad.by_key.get(item.owner.key)) is not None:
            siblings, there = item.owner.children, owner.children
        else:
            raise PatchError(f"{item.owner.key[1]} is not there")
        known = {other.key: other for other in there}
        for other in reversed(siblings[: siblings.index(item)]):
            if other.key in known:
                return known[other.key].end
        return there[0].start


def _differences(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield where two texts differ: start and end in the one, start and end in the other.

    What a difference takes away beyond what it puts there may be another change: it stands apart.
    """
    counts = Counter(before), Counter(after)
    # A line that comes again, as `return None`, says nothing about what belongs together.
    matcher = difflib.SequenceMatcher(
        lambda line: any(count[line] > 1 for count in counts), before, after, autojunk=False
    )
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "replace" and i2 - i1 > j2 - j1:
            yield i1, i1, j1, j2
            yield i1, i2, j2, j2
        elif tag != "equal":
            yield i1, i2, j1, j2


def lacking_names(text: str) -> frozenset[str]:
    """Return the global names that functions and classes of a module use, and that nothing in it binds.

    Args:
        text: of the module. One that imports everything of another (``*``) lacks nothing that could be told.

    Raises:
        PatchError: Python cannot parse it.
    """
    try:
        table = symtable.symtable(text, "module", "exec")
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise PatchError(str(error)) from None
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    if any(alias.name == "*" for node in imports for alias in node.names):
        return frozenset()
    bound = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    bound |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_namespace()} | _GIVEN
    used = set[str]()
    todo = list(table.get_children())
    while todo:
        scope = todo.pop()
        todo += scope.get_children()
        for symbol in scope.get_symbols():
            if symbol.is_global():
                (bound if symbol.is_assigned() else used).add(symbol.get_name())
    return frozenset(used - bound)


def attributes_looked_for(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the attributes that a module looks for and goes on without, and the names that it gives to anything.

    Args:
        text: of the module.

    Raises:
        PatchError: Python cannot parse it.
    """
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError) as error:
        raise PatchError(str(error)) from None
    looked_for = {
        word: word.value
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and (node.func.id, len(node.args)) in (("hasattr", 2), ("getattr", 3))
        and isinstance(word := node.args[1], ast.Constant)
        and isinstance(word.value, str)
    }
    given: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            given.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            given.add(node.name)
        elif isinstance(node, ast.keyword) and node.arg is not None:
            given.add(node.arg)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in looked_for:
            given.add(node.value)
    return frozenset(looked_for.values()), frozenset(given)


_GIVEN = {*dir(builtins), "__annotations__", "__doc__", "__file__", "__name__", "__package__", "__path__", "__spec__"}


@dataclass(frozen=True)
class Mixture:
    """A text mixed of both releases, and the first line of each unit in it; of those that were removed none."""

    text: str
    lines: Mapping[Unit, int]

    @property
    def checked(self) -> str:
        """The text.

        Raises:
            PatchError: Python cannot parse it.
        """
        try:
            ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError) as error:
            raise PatchError(str(error)) from None
        return self.text


@dataclass(frozen=True)
class _Edit:
    """Lines from `start` to before `end` become `new`; `order` is that of edits at one place."""

    start: int
    end: int
    order: int
    new: tuple[str, ...]
    unit: Unit | None = None

    def precedes(self, line: int) -> bool:
        """Return whether the text from `line` on is moved by it."""
        if self.start == self.end == line:
            return self.unit is not None
        return self.end <= line


def _edited(lines: Sequence[str], edits: Sequence[_Edit]) -> tuple[str, dict[Unit, int]]:
    out: list[str] = []
    places: dict[Unit, int] = {}
    at = 1
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end, edit.order)):
        if edit.start < at:
            raise PatchError("units overlap")
        out += lines[at - 1 : edit.start - 1]
        if edit.unit is not None:
            # A blank line stands before what is added, but for an import.
            places[edit.unit] = len(out) + (2 if edit.new[0] == "\n" else 1)
        out += edit.new
        at = edit.end
    return "".join([*out, *lines[at - 1 :]]), places


def items_met(ran: Iterable[tuple[str, int]], pairs: Iterable[FilePair]) -> set[tuple[str, Key]]:
    """Return file and key of the items of some files that were executed in the release with the bug.

    Args:
        ran: code objects, as file and first line.
        pairs: the files.
    """
    sides = {pair.file: pair.bad for pair in pairs}
    places = ((file, sides[file].item_at(line)) for file, line in ran if file in sides)
    return {(file, item.key) for file, item in places if item is not None}


class Wheels:
    """The torch folders of two releases, and the units between them.

    Args:
        bad: the torch folder of the release with the bug.
        good: that of the release without.
    """

    def __init__(self, bad: Path, good: Path, mirror: Wheels | None = None) -> None:
        self.bad, self.good = bad, good
        self._mirror = mirror
        self._pairs: dict[str, FilePair | None] = {}
        self._index: tuple[frozenset[str], _Index] | None = None
        self.beyond_binary: set[Unit] = set()
        """Units that ask the bad release's compiled libraries for what they lack, as far as trials showed."""

    @cached_property
    def mirrored(self) -> Wheels:
        """The same two with their places exchanged: its mixtures are the good release with units taken back."""
        return Wheels(self.good, self.bad, self)

    @cached_property
    def changed_python(self) -> tuple[str, ...]:
        """Python files that both releases have, with other bytes."""
        return self._changed("**/*.py")

    @cached_property
    def changed_headers(self) -> tuple[str, ...]:
        """C++ headers that both releases have, with other bytes."""
        return self._changed("include/**/*.h")

    @cached_property
    def new_python(self) -> tuple[str, ...]:
        """Python files that the good release alone has."""
        names = (path.relative_to(self.good).as_posix() for path in self.good.glob("**/*.py"))
        return tuple(sorted(name for name in names if not _LEFT_OUT.search(name) and not (self.bad / name).exists()))

    def _changed(self, pattern: str) -> tuple[str, ...]:
        names = (path.relative_to(self.bad).as_posix() for path in self.bad.glob(pattern))
        return tuple(sorted(name for name in names if not _LEFT_OUT.search(name) and self._differ(name)))

    def _differ(self, name: str) -> bool:
        old, new = self.bad / name, self.good / name
        if not new.is_file():
            return False
        return old.stat().st_size != new.stat().st_size or old.read_bytes() != new.read_bytes()

    def pair(self, file: str) -> FilePair | None:
        """Return a Python file of both releases; None if it is the same in both, one lacks it, or it does not parse.

        Args:
            file: relative to the torch folder.
        """
        if file not in self._pairs:
            self._pairs[file] = self._read(file)
        return self._pairs[file]

    def _read(self, file: str) -> FilePair | None:
        if self._mirror is not None:
            pair = self._mirror.pair(file)
            return pair.mirrored() if pair else None
        old, new = self.bad / file, self.good / file
        if _LEFT_OUT.search(file) or not file.endswith(".py") or not old.is_file() or not new.is_file():
            return None
        before, after = old.read_text(encoding="utf-8"), new.read_text(encoding="utf-8")
        if before == after:
            return None
        # Trees of millions of nodes stay: a garbage collection would go through all of them, again and again.
        gc.disable()
        try:
            return FilePair(file, SourceFile(before), SourceFile(after))
        except PatchError:
            return None
        finally:
            gc.freeze()
            gc.enable()

    def units(self, file: str) -> tuple[Unit, ...]:
        """Return the units of a file.

        Args:
            file: relative to the torch folder.
        """
        if not file.endswith(".py"):
            return (Unit(file, "", "header", "changed"),)
        if not (self.bad / file).exists():
            return (Unit(file, "", "file", "added"),)
        pair = self.pair(file)
        return pair.units if pair else ()

    def brings(self, unit: Unit, word: str, *, attribute: bool = False) -> bool:
        """Return whether the good text of a unit has a word that its bad text has not.

        Args:
            unit: one of `units`.
            word: an identifier.
            attribute: whether it counts only after a dot.
        """
        before = "[.]" if attribute else r"\b"
        pattern = re.compile(rf"{before}{re.escape(word)}\b")
        if unit.kind == "import":
            return bool(pattern.search(unit.qualname))
        bad, good = self._texts(unit)
        return bool(pattern.search(good)) and not pattern.search(bad)

    def calls(self, unit: Unit, name: str) -> bool:
        """Return whether the good text of a unit defines or calls what has a name.

        Args:
            unit: one of `units`.
            name: of a function or a class.
        """
        return bool(re.search(rf"\b{re.escape(name)}\(", self._texts(unit)[1])) or name in unit.qualname.split(".")

    def _texts(self, unit: Unit) -> tuple[str, str]:
        """Return the bad and the good text of a unit; each is empty where it is not there."""
        pair = self.pair(unit.file)
        if pair is None:
            return "", ""
        old, new = pair.bad.by_key.get(unit.key), pair.good.by_key.get(unit.key)
        bad = "".join(pair.bad.lines[old.start - 1 : old.end - 1]) if old else ""
        return bad, "".join(pair.good.lines[new.start - 1 : new.end - 1]) if new else ""

    def mixed(self, selection: Selection) -> dict[str, str]:
        """Return the text of each file that a selection changes, by file.

        Args:
            selection: units of any files.

        Raises:
            PatchError: they give no text that can be parsed.
        """
        texts = {}
        for file in sorted({unit.file for unit in selection}):
            pair = self.pair(file)
            texts[file] = pair.mixed(selection).checked if pair else (self.good / file).read_text(encoding="utf-8")
        return texts

    def lacking(self, selection: Selection) -> list[str]:
        """Return the names that the selected units use and this release does not have, as ``FILE: NAME``.

        They are globals of their file, and attributes that they look for (`hasattr`, `getattr` with a default) and
        that no Python of the release sets: the units run without them, and never find what they look for.

        Args:
            selection: units of any files.

        Raises:
            PatchError: they give no text that can be parsed.
        """
        lacking, asked, given = [], dict[str, str](), set[str]()
        for file, text in self.mixed(selection).items():
            if file.endswith(".py"):
                pair = self.pair(file)
                before = lacking_names(pair.bad.text) if pair else frozenset[str]()
                lacking += [f"{file}: {name}" for name in sorted(lacking_names(text) - before)]
                looked_for, names = attributes_looked_for(text)
                given |= names
                known = attributes_looked_for(pair.bad.text)[0] if pair else frozenset[str]()
                asked |= dict.fromkeys(sorted(looked_for - known), file)
        unset = self._unset(asked.keys() - given)
        return lacking + [f"{file}: {name}" for name, file in asked.items() if name in unset]

    def _unset(self, names: set[str]) -> set[str]:
        """Return the names that no Python of the bad release gives to anything."""
        for path in self.bad.glob("**/*.py") if names else ():
            text = path.read_text(encoding="utf-8", errors="replace")
            if any(name in text for name in names):
                with contextlib.suppress(PatchError):
                    names = names - attributes_looked_for(text)[1]
        return names

    def with_needs(self, units: Iterable[Unit], files: Iterable[str]) -> frozenset[Unit]:
        """Return the units together with those that their new text refers to and the bad release lacks.

        Args:
            units: to start from.
            files: where names that are missing are looked for.
        """
        searched = frozenset(files)
        if self._index is None or self._index[0] != searched:
            pairs = [pair for file in sorted(searched) if (pair := self.pair(file))]
            self._index = (searched, _Index(pairs, self.bad, self.good))
        known: set[Unit] = set()
        todo = list(units)
        while todo:
            unit = todo.pop()
            if unit not in known:
                known.add(unit)
                todo += self._index[1].needed_by(self.pair(unit.file), unit)
        return frozenset(known)


class _Index:
    """Index of the places where the good release defines what the bad one lacks."""

    MANY = 3
    """Classes of a file that define a member anew beyond which its name does not tell which of them is meant."""

    def __init__(self, pairs: Sequence[FilePair], bad: Path, good: Path) -> None:
        self._bad, self._good = bad, good
        self._names: dict[tuple[str, str], list[Unit]] = {}
        self._members: dict[str, list[Unit]] = {}
        self._known_members = {key[1].rpartition(".")[2] for pair in pairs for key in pair.bad.by_key}
        self._needs: dict[Unit, tuple[Unit, ...]] = {}
        self._parameters: dict[tuple[str, str], list[Unit]] = {}
        for pair in pairs:
            for unit in pair.units:
                self._add(pair, unit)

    def _add(self, pair: FilePair, unit: Unit) -> None:
        last = unit.qualname.rpartition(".")[2]
        if unit.kind == "import":
            for name in _bound(ast.parse(unit.qualname).body[0]):
                self._names.setdefault((unit.file, name), []).append(unit)
        elif unit.change == "added" and last.isidentifier():
            if "." not in unit.qualname:
                self._names.setdefault((unit.file, last), []).append(unit)
            self._members.setdefault(last, []).append(unit)
        elif unit.change == "changed" and unit.kind == "function":
            old, new = pair.bad.by_key[unit.key].node, pair.good.by_key[unit.key].node
            owner = unit.qualname.rpartition(".")[0].rpartition(".")[2]
            for name in _parameters(new) - _parameters(old):
                self._parameters.setdefault((last, name), []).append(unit)
                if last == "__init__":
                    self._parameters.setdefault((owner, name), []).append(unit)
            # An attribute that is first set where the object is made.
            for name in _attributes_set(new) - _attributes_set(old) if last == "__init__" else ():
                self._members.setdefault(name, []).append(unit)

    def needed_by(self, pair: FilePair | None, unit: Unit) -> tuple[Unit, ...]:
        """Return the units that the new text of a unit refers to."""
        if unit not in self._needs:
            self._needs[unit] = tuple(dict.fromkeys(self._needed_by(pair, unit)))
        return self._needs[unit]

    def _needed_by(self, pair: FilePair | None, unit: Unit) -> Iterator[Unit]:
        if unit.kind == "import":
            node: ast.AST = ast.parse(unit.qualname)
        elif unit.kind == "file":
            node = ast.parse((self._good / unit.file).read_text(encoding="utf-8"))
        elif pair is not None and unit.key in pair.good.by_key:
            node = pair.good.by_key[unit.key].node
        else:
            return
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                yield from self._names.get((unit.file, inner.id), ())
            elif isinstance(inner, ast.Attribute):
                places = self._members.get(inner.attr, [])
                if inner.attr in self._known_members:
                    # The bad release has such members, and so perhaps this very one.
                    places = [place for place in places if place.file == unit.file]
                    places = places if len(places) <= self.MANY else []
                yield from places
            elif isinstance(inner, ast.Call):
                name = inner.func.attr if isinstance(inner.func, ast.Attribute) else getattr(inner.func, "id", "")
                for keyword in inner.keywords:
                    yield from self._parameters.get((name, keyword.arg or ""), ())
            elif isinstance(inner, ast.ImportFrom):
                module = _module_file(unit.file, inner)
                names = [f"{module}/{alias.name}" for alias in inner.names]
                for file in (f"{name}{ending}" for name in (module, *names) for ending in (".py", "/__init__.py")):
                    if (self._good / file).is_file() and not (self._bad / file).exists():
                        yield Unit(file, "", "file", "added")
                    for alias in inner.names:
                        yield from self._names.get((file, alias.name), ())


def _bound(node: ast.AST) -> list[str]:
    return [alias.asname or alias.name.partition(".")[0] for alias in getattr(node, "names", [])]


def _attributes_set(node: ast.AST) -> set[str]:
    return {
        inner.attr for inner in ast.walk(node) if isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store)
    }


def _parameters(node: ast.AST) -> set[str]:
    arguments = getattr(node, "args", None)
    if not isinstance(arguments, ast.arguments):
        return set()
    return {parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def _module_file(file: str, node: ast.ImportFrom) -> str:
    """Return the file, without its ending, that an import in `file` names, relative to the torch folder."""
    module = (node.module or "").replace(".", "/")
    if node.level == 0:
        return module.removeprefix("torch/") if module.startswith("torch/") else f"//{module}"
    folder = file.split("/")[: -node.level]
    return "/".join([*folder, module] if module else folder)
