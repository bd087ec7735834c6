"""Units of two releases, and mixtures of their texts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from pt2bugs.isolate.units import PatchError, Unit, Wheels, lacking_names

BAD = '''\
"""Old."""
import os
from . import one


TABLE = {"a": 1}


def same(x):
    # another comment
    return x


def changed(x, y=1):
    first = x
    second = y
    return first + second


class Owner:
    kept = 1

    def method(self):
        return 1

    def gone(self):
        return 2


@register(1)
def _(x):
    return 1


@register(2)
def _(x):
    return 2
'''
GOOD = '''\
"""New."""
import os
from . import one, two


TABLE = {"a": 2}


def same(x):
    """Documented now."""
    return x


def helper(x):
    return two.double(x)


def changed(x, y=2):
    first = helper(x)
    second = y
    return first + second + 0


class Owner(Base):
    kept = 1

    def method(self):
        return self.fresh()

    def fresh(self):
        return 3


@register(1)
def _(x):
    return 1


@register(2)
def _(x):
    return 3
'''


@pytest.fixture
def wheels(tmp_path: Path) -> Wheels:
    for side, text in (("bad", BAD), ("good", GOOD)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "m.py").write_text(text)
        (tmp_path / side / "version.py").write_text(side)
    return Wheels(tmp_path / "bad", tmp_path / "good")


def units(wheels: Wheels) -> dict[str, Unit]:
    return {unit.qualname: unit for unit in wheels.units("m.py")}


def test_what_differs_is_a_unit(wheels: Wheels) -> None:
    told = {(unit.qualname, unit.kind, unit.change) for unit in wheels.units("m.py")}
    assert told == {
        ("from . import two", "import", "added"),
        ("TABLE", "statement", "changed"),
        ("helper", "function", "added"),
        ("changed", "function", "changed"),
        ("Owner", "class", "changed"),
        ("Owner.method", "function", "changed"),
        ("Owner.fresh", "function", "added"),
        ("Owner.gone", "function", "removed"),
        ("_@register(2)", "function", "changed"),
    }
    assert wheels.changed_python == ("m.py",)


def without_docstrings(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = sorted(alias.name for node in imports for alias in node.names)
    tree.body = [node for node in tree.body if node not in imports]
    return f"{names} {ast.dump(tree)}"


def test_all_units_together_give_the_other_release(wheels: Wheels) -> None:
    mixed = wheels.mixed(dict.fromkeys(wheels.units("m.py")))["m.py"]
    assert without_docstrings(mixed) == without_docstrings(GOOD)
    back = wheels.mirrored.mixed({unit.mirrored: None for unit in wheels.units("m.py")})["m.py"]
    # An import that is not needed any more does no harm.
    assert (
        without_docstrings(back).partition(" ")[2].removeprefix("'two'] ") == without_docstrings(BAD).partition(" ")[2]
    )


def test_one_unit_alone_leaves_the_rest(wheels: Wheels) -> None:
    mixed = wheels.mixed({units(wheels)["TABLE"]: None})["m.py"]
    assert mixed == BAD.replace('{"a": 1}', '{"a": 2}')


def test_hunks_of_a_function(wheels: Wheels) -> None:
    changed = units(wheels)["changed"]
    pair = wheels.pair("m.py")
    assert pair is not None
    assert len(pair.hunks(changed)) == 2
    mixed = wheels.mixed({changed: frozenset({1})})["m.py"]
    assert mixed == BAD.replace("return first + second", "return first + second + 0")
    taken_back = wheels.mirrored.mixed({changed.mirrored: frozenset({1})})["m.py"]
    assert taken_back == GOOD.replace("return first + second + 0", "return first + second")


def test_what_is_gone_beside_what_is_new_is_a_hunk_of_its_own(tmp_path: Path) -> None:
    """The branch of `reversed` fixes something; that the one of `mul` went elsewhere is another change."""
    head = (
        "def call(name, args):\n    if name == 'len':\n        check(\n            args,\n        )\n        return 1\n"
    )
    branch = "    elif name == {!r}:\n        check(\n            args,\n        )\n        return {}\n"
    tail = "    elif name == 'iter':\n        return 4\n"
    old = head + branch.format("mul", 2) + "    elif name == 'add':\n        return 5\n" + tail
    new = head + branch.format("reversed", 3) + tail
    for side, text in (("bad", old), ("good", new)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "m.py").write_text(text)
    wheels = Wheels(tmp_path / "bad", tmp_path / "good")
    (call,) = wheels.units("m.py")
    pair = wheels.pair("m.py")
    assert pair is not None
    assert len(pair.hunks(call)) == 2
    with_both = old.replace("    elif name == 'mul'", branch.format("reversed", 3) + "    elif name == 'mul'")
    assert wheels.mixed({call: frozenset({0})})["m.py"] == with_both
    assert wheels.mixed({call: None})["m.py"] == new
    mirrored = wheels.mirrored
    assert mirrored.mixed({call.mirrored: frozenset({0})})["m.py"] == head + tail
    assert mirrored.mixed({call.mirrored: None})["m.py"] == old


def test_what_a_unit_needs_comes_along(wheels: Wheels) -> None:
    needed = wheels.with_needs([units(wheels)["changed"]], ["m.py"])
    assert {unit.qualname for unit in needed} == {"changed", "helper", "from . import two"}
    needed = wheels.with_needs([units(wheels)["Owner.method"]], ["m.py"])
    assert {unit.qualname for unit in needed} == {"Owner.method", "Owner.fresh"}


def test_a_new_member_of_a_new_class_needs_the_class(tmp_path: Path) -> None:
    for side, text in (("bad", "x = 1\n"), ("good", "x = 1\n\n\nclass New:\n    def f(self):\n        return 1\n")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "m.py").write_text(text)
    wheels = Wheels(tmp_path / "bad", tmp_path / "good")
    assert [unit.qualname for unit in wheels.units("m.py")] == ["New"]
    with pytest.raises(PatchError, match="is not there"):
        wheels.mixed({Unit("m.py", "New.f", "function", "added"): None})


def test_a_function_that_reads_a_new_keyword_brings_who_takes_it(tmp_path: Path) -> None:
    old = "def g(a):\n    return a\n\n\ndef f():\n    return g(1)\n"
    new = "def g(a, strict=True):\n    return a\n\n\ndef f():\n    return g(1, strict=False)\n"
    for side, text in (("bad", old), ("good", new)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "m.py").write_text(text)
    wheels = Wheels(tmp_path / "bad", tmp_path / "good")
    needed = wheels.with_needs([units(wheels)["f"]], ["m.py"])
    assert {unit.qualname for unit in needed} == {"f", "g"}


def test_a_file_that_does_not_parse_has_no_units(tmp_path: Path) -> None:
    for side, text in (("bad", "def f(:\n"), ("good", "def f(): pass\n")):
        (tmp_path / side).mkdir()
        (tmp_path / side / "m.py").write_text(text)
    assert Wheels(tmp_path / "bad", tmp_path / "good").units("m.py") == ()


def test_an_attribute_that_is_set_where_the_object_is_made(tmp_path: Path) -> None:
    old = "class A:\n    def __init__(self):\n        self.x = 1\n\n    def f(self):\n        return self.x\n"
    new = old.replace("self.x = 1", "self.x = 1\n        self.kinds = {}").replace("return self.x", "return self.kinds")
    for side, text in (("bad", old), ("good", new)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "m.py").write_text(text)
    wheels = Wheels(tmp_path / "bad", tmp_path / "good")
    method = units(wheels)["A.f"]
    assert {unit.qualname for unit in wheels.with_needs([method], ["m.py"])} == {"A.f", "A.__init__"}
    assert wheels.brings(method, "kinds")
    assert wheels.brings(method, "kinds", attribute=True)
    assert not wheels.brings(method, "self")
    assert not wheels.brings(units(wheels)["A.__init__"], "x")


def test_where_units_stand_in_a_mixture(wheels: Wheels) -> None:
    pair = wheels.pair("m.py")
    assert pair is not None
    mixture = pair.mixed(dict.fromkeys(wheels.units("m.py")))
    lines = mixture.checked.splitlines()
    begins = {
        "from . import two": "from . import two",
        "TABLE": "TABLE = ",
        "helper": "def helper",
        "changed": "def changed",
        "Owner": "class Owner(Base)",
        "Owner.method": "    def method",
        "Owner.fresh": "    def fresh",
        "_@register(2)": "@register(2)",
    }
    assert {unit.qualname for unit in mixture.lines} == set(begins)
    for unit, line in mixture.lines.items():
        assert lines[line - 1].startswith(begins[unit.qualname]), (unit, line)


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("def f(x):\n    return helper(x)\n", {"helper"}),
        ("def f(x):\n    return len(x), __name__\n", set()),
        ("from a import helper as h\n\ndef f(x):\n    return h(x)\n", set()),
        ("from a import *\n\ndef f(x):\n    return helper(x)\n", set()),
        ("def f(x):\n    global made\n    made = x\n\ndef g():\n    return made\n", set()),
        ("class C:\n    def f(self):\n        return [helper for _ in self]\n", {"helper"}),
        ("if True:\n    import helper\n\ndef f():\n    return helper, C\n\nclass C:\n    pass\n", set()),
    ],
)
def test_names_that_a_module_lacks(text: str, lacking: set[str]) -> None:
    assert lacking_names(text) == lacking


def test_names_that_selected_units_lack(wheels: Wheels) -> None:
    changed = units(wheels)["changed"]
    assert wheels.lacking({changed: None}) == ["m.py: helper"]
    assert wheels.lacking(dict.fromkeys(wheels.with_needs([changed], ["m.py"]))) == []


@pytest.mark.parametrize(
    ("elsewhere", "lacking"),
    [
        ("MADE = 1\n", ["m.py: _wrapper_id"]),
        ("def make(f):\n    # sets _wrapper_id\n    return hasattr(f, '_wrapper_id')\n", ["m.py: _wrapper_id"]),
        ("def make(f):\n    f._wrapper_id = id(f)\n", []),
        ("def make(f):\n    setattr(f, '_wrapper_id', 1)\n", []),
        ("class Made:\n    _wrapper_id = 1\n", []),
    ],
)
def test_attributes_that_nothing_sets(tmp_path: Path, elsewhere: str, lacking: list[str]) -> None:
    """The patch of pytorch_172732 follows wrappers that carry a mark, and no wrapper of the old release does."""
    old = "def inner(f):\n    return f.inner if hasattr(f, 'inner') else f\n"
    new = old.replace("hasattr(f, 'inner')", "getattr(f, '_wrapper_id', 0) == id(f)")
    for name, text in (("bad", old), ("good", new)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "m.py").write_text(text)
        (tmp_path / name / "other.py").write_text(elsewhere)
    wheels = Wheels(tmp_path / "bad", tmp_path / "good")
    (changed,) = wheels.units("m.py")
    assert wheels.lacking({changed: None}) == lacking


def test_what_defines_or_calls_a_function(tmp_path: Path) -> None:
    old = "def low(row):\n    return row\n\n\ndef high(row):\n    return low(row)\n\n\ndef none(row):\n    return row\n"
    new = old.replace("low(row)", "low(row, by)").replace("return row\n", "return row + 0\n")
    for name, text in (("bad", old), ("good", new)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(text)
    wheels = Wheels(tmp_path / "bad", tmp_path / "good")
    assert [unit.qualname for unit in wheels.units("a.py") if wheels.calls(unit, "low")] == ["low", "high"]
