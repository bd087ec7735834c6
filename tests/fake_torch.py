"""Tiny stand-ins for torch, numpy and setuptools: what the harness touches of them, in milliseconds.

A fake torch has the compiler bugs its `faults` list: a compiled function of that name then fails in the
way named: ``wrong`` (its result is off), ``raise``, ``abort``, ``hang``, ``slow`` (by seconds), ``slower`` (by some
milliseconds) or ``no-space``. All else is right.
``threads`` raises in a process that has not set the number of threads itself.
``raise@aot_eager`` fails with that backend and those above it, ``raise`` with every one.
A fault of one backend of torch is called ``inductor:NAME``; a module that registers a backend adds its own to
`backend_faults`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import threading
import zipfile
from collections.abc import Iterator, Mapping
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path

from packaging.utils import parse_wheel_filename

Faults = Mapping[str, str]

_INIT = """
import os, time
from . import backends, testing, version
from ._dynamo import exc
from ._dynamo.utils import counters

__version__ = version.__version__
float32, uint8 = "float32", "uint8"
faults = {faults!r}
backend_faults = {{}}
_threads = os.cpu_count()


class Tensor:
    def __init__(self, values):
        self.values = list(values)

    def _map(self, function):
        return Tensor(function(value) for value in self.values)

    def sin(self):
        import math
        return self._map(math.sin)

    def __add__(self, other):
        return self._map(lambda value: value + other)

    def __mul__(self, other):
        return self._map(lambda value: value * other)

    def __truediv__(self, other):
        return self._map(lambda value: value / other)

    def sum(self):
        return sum(self.values)


def arange(n, dtype=None, device="cpu"):
    return Tensor(range(n))


def ones(n, dtype=None, device="cpu"):
    return Tensor([1.0] * n)


_LAYERS = ["eager", "aot_eager", "aot_autograd_nop", "aot_eager_decomp_partition", "inductor"]


def _fault(name, backend):
    fault, _, layer = faults.get(name, "").partition("@")
    place = 0 if callable(backend) else _LAYERS.index(backend) if backend in _LAYERS else len(_LAYERS)
    has_it = not layer or place >= _LAYERS.index(layer)
    return fault if has_it else None


def compile(function, backend="inductor", **_):
    def compiled(*arguments):
        counters["stats"]["unique_graphs"] += 1
        name = function.__name__
        own = faults.get(f"{{backend}}:{{name}}") or _fault(name, backend)
        result, fault = function(*arguments), backend_faults.get(backend, {{}}).get(name, own)
        if fault == "wrong":
            return result + 1
        if fault == "raise":
            raise exc.InternalTorchDynamoError(f"cannot compile {{function.__name__}}")
        if fault == "unknown":
            raise exc.InvalidBackend(f"Invalid backend: {{backend!r}}")
        if fault == "abort":
            os.abort()
        if fault == "threads" and threads_set_by != os.getpid():
            raise RuntimeError("the pool of threads was made by another process")
        if fault == "slow":
            time.sleep(3)
        if fault == "slower":
            time.sleep(0.02)
        if fault == "hang":
            time.sleep(3600)
        if fault == "no-space":
            raise OSError(28, os.strerror(28))
        return result
    return compiled


threads_set_by = 0


def set_num_threads(n):
    global _threads, threads_set_by
    _threads, threads_set_by = n, os.getpid()


def get_num_threads():
    return _threads


def manual_seed(seed):
    pass


class Generator:
    def manual_seed(self, seed):
        pass


default_generator = Generator()


def set_default_dtype(dtype):
    global _default_dtype
    _default_dtype = dtype


_default_dtype = float32
"""

CODECACHE = """\
import functools, os, tempfile

@functools.lru_cache(None)
def cache_dir():
    return os.environ.get("TORCHINDUCTOR_CACHE_DIR", os.path.join(tempfile.gettempdir(), "torchinductor"))

class VecISA:
    pass

supported_vec_isa_list = []

def valid_vec_isa_list():
    os.makedirs(cache_dir(), exist_ok=True)
    return []
"""
"""As in torch 2.0 to 2.3: the folder is asked for once, when the vector ISA is probed."""

_FILES = {
    "backends/__init__.py": "from . import cpu\n",
    "backends/cpu.py": "import os\ndef get_cpu_capability():\n"
    "    return os.environ.get('ATEN_CPU_CAPABILITY', 'fake').replace('avx512', 'avx2').upper()\n",
    "testing/__init__.py": "def assert_close(a, b):\n    if a.values != b.values:\n"
    "        raise AssertionError('Tensor-likes are not close!')\n",
    "testing/_internal/__init__.py": "",
    "testing/_internal/common_utils.py": "from unittest import TestCase, main as run_tests\n",
    "_dynamo/__init__.py": "def register_backend(name, compiler_fn):\n    pass\n",
    "_dynamo/backends/__init__.py": "",
    "_dynamo/backends/common.py": "def aot_autograd(fw_compiler):\n    return fw_compiler\n",
    "_functorch/__init__.py": "",
    "_functorch/aot_autograd.py": "def make_boxed_func(function):\n    return function\n",
    "_dynamo/exc.py": (
        "class InternalTorchDynamoError(RuntimeError):\n    pass\n\n\nclass InvalidBackend(RuntimeError):\n    pass\n"
    ),
    "_inductor/__init__.py": "",
    "_inductor/config.py": "cpp_wrapper = False\nfreezing = False\nclass cpp:\n    vec_isa_ok = None\n",
    "_inductor/codecache.py": CODECACHE,
    "_dynamo/utils.py": "from collections import Counter, defaultdict\ncounters = defaultdict(Counter)\n",
}


def _torch_files(version: str, faults: Faults) -> dict[str, str]:
    stamp = f"__version__ = {version!r}\ngit_version = {hashlib.sha1(version.encode()).hexdigest()!r}\n"
    files = {"__init__.py": _INIT.format(faults=dict(faults)), "version.py": stamp, **_FILES}
    return {f"torch/{name}": text for name, text in files.items()}


def write_torch(
    folder: Path, version: str = "2.90.0", faults: Faults | None = None, files: Mapping[str, str] | None = None
) -> Path:
    """A fake torch to be put on the path, with further `files` in its folder; returns `folder`."""
    further = {f"torch/{name}": text for name, text in (files or {}).items()}
    for name, text in {**_torch_files(version, faults or {}), **further}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def build_wheels(
    folder: Path, releases: Mapping[str, Faults], files: Mapping[str, Mapping[str, str]] | None = None
) -> Path:
    """Wheels of fake torch releases, and of the companions that the harness installs beside them.

    `files` are further ones in the torch folder, by release.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for version, faults in releases.items():
        further = {f"torch/{name}": text for name, text in (files or {}).get(version, {}).items()}
        _write_wheel(folder, "torch", version, {**_torch_files(version, faults), **further})
    for name, version in (("numpy", "1.26.4"), ("numpy", "2.4.0"), ("setuptools", "69.5.1"), ("setuptools", "80.9.0")):
        _write_wheel(folder, name, version, {f"{name}/__init__.py": f"__version__ = {version!r}\n"})
    return folder


def write_backend(
    folder: Path,
    name: str,
    faults: Faults,
    version: str = "1.0",
    only: str = "",
    module: str = "",
    device: str = "",
    requires: str = "",
) -> Path:
    """A wheel whose module of that name registers a backend of that name; its faults show in one torch `only`.

    With `module`, its part of that name does so instead. With a `device`, it brings that along.
    """
    condition = f" if torch.__version__ == {only!r} else {{}}" if only else ""
    text = f"import torch\ntorch.backend_faults[{name!r}] = {dict(faults)!r}{condition}\n"
    text += f"torch.empty = lambda n, device: {{{device!r}: torch.ones}}[device](n)\n" if device else ""
    files = {f"{name}/__init__.py": "", f"{name}/{module}.py": text} if module else {f"{name}/__init__.py": text}
    if requires:
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nRequires-Dist: {requires}\n"
        files[f"{name}-{version}.dist-info/METADATA"] = about
    return _write_wheel(folder, name, version, files)


def write_pytest(folder: Path) -> None:
    """Wheels of the installed pytest and what it requires, so that an environment has them without a network."""
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            there = metadata.distribution(name)
            sources = [path for path in there.files or () if path.suffix == ".py" and ".." not in path.parts]
            files = {path.as_posix(): Path(path.locate()).read_text(encoding="utf-8") for path in sources}
            files[f"{name}-{there.version}.dist-info/METADATA"] = there.read_text("METADATA") or ""
            _write_wheel(folder, name, there.version, files)


def _write_wheel(folder: Path, name: str, version: str, files: Mapping[str, str]) -> Path:
    info = f"{name}-{version}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **files,
    }
    record = []
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for file, text in files.items():
            data = text.encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{file},sha256={digest},{len(data)}\n")
            wheel.writestr(file, data)
        wheel.writestr(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")
    return path


@contextlib.contextmanager
def serve_index(wheels: Path, root: Path) -> Iterator[str]:
    """A package index of these wheels; yields its address."""
    for wheel in wheels.glob("*.whl"):
        name = parse_wheel_filename(wheel.name)[0]
        page = root / "simple" / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        (page.parent / wheel.name).hardlink_to(wheel)
        links = sorted(path.name for path in page.parent.glob("*.whl"))
        page.write_text("<!DOCTYPE html>" + "".join(f'<a href="{link}">{link}</a><br>' for link in links))
    with served(root) as address:
        yield f"{address}/simple"


@contextlib.contextmanager
def served(root: Path) -> Iterator[str]:
    """Serve a folder; yields its address."""

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(root))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that was killed is no news."""

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
