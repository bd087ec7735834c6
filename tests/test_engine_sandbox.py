"""What code that nobody has read can reach from a cell: each check here tries, on the fake torch, in one run."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pt2bugs.engine.protocol import MAX_OUTPUT_MIB
from pt2bugs.engine.restrictions import has_landlock
from pt2bugs.engine.sandbox import beside, environment_folders, probe
from suite import Done, Suite

HARNESS = Path(__file__).resolve().parent.parent / "harness"

pytestmark = pytest.mark.skipif(bool(probe()), reason="this machine has no namespaces for a sandbox")

ATTACKS = {
    "reaches_the_network": """
        with pytest.raises(OSError, match="unreachable"):
            socket.create_connection(("192.0.2.1", 80), 1)
        """,
    "reaches_a_service_of_the_machine": """
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", {port}), 1)
        """,
    "reaches_a_socket_without_a_file": """
        with socket.socket(socket.AF_UNIX) as client, pytest.raises(OSError, match="refused"):
            client.connect(chr(0) + "{name}")
        """,
    "reaches_a_socket_in_a_temporary_folder": """
        with socket.socket(socket.AF_UNIX) as client, pytest.raises(OSError, match="No such file"):
            client.connect("{folder}/service")
        """,
    "uses_its_own_loopback": """
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), 1).close()
        """,
    "reads_the_home": """
        assert not os.path.exists("{folder}/home/secret")
        """,
    "reads_secrets_of_root": """
        assert os.geteuid() != 0 or open("/etc/shadow").read() == ""
        """,
    "opens_a_file_by_its_number": """
        import ctypes
        handle = ctypes.create_string_buffer(8 + 128)
        ctypes.memmove(handle, (128).to_bytes(4, sys.byteorder), 4)
        libc, mount = ctypes.CDLL(None, use_errno=True), ctypes.c_int()
        assert libc.name_to_handle_at(-100, b"/usr", handle, ctypes.byref(mount), 0) == 0
        assert libc.open_by_handle_at(os.open("/usr", os.O_RDONLY), handle, os.O_RDONLY) == -1
        """,
    "writes_over_a_file": """
        for path in ("{folder}/kept", __file__, sys.executable, "/etc/passwd"):
            with pytest.raises(OSError): open(path, "r+")
            with pytest.raises(OSError): os.chmod(path, 0o777)
        """,
    "steers_the_machine": """
        for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/mm/ksm/run"):
            with pytest.raises(OSError): open(path, "w")
        """,
    "looks_through_the_supervisor": """
        for name in ("root", "cwd", "fd/0"):
            with pytest.raises(PermissionError): os.readlink("/proc/1/" + name)
        for name in ("mem", "environ"):
            with pytest.raises(PermissionError): open("/proc/1/" + name)
        """,
    "opens_a_disk": """
        assert not [path for path in os.scandir("/dev") if stat.S_ISBLK(path.stat().st_mode)]
        """,
    "has_privileges": """
        status = open("/proc/self/status").read()
        assert "NoNewPrivs:\\t1" in status
        assert re.findall("Cap(?:Prm|Eff|Bnd):\\t(.*)", status) == ["0" * 16] * 3
        """,
    "fills_the_disk": """
        for folder in (tempfile.gettempdir(), "/tmp", "/dev/shm", os.getcwd(), os.environ["HOME"]):
            status = os.statvfs(folder)
            assert status.f_blocks * status.f_frsize <= 8 << 30, folder
        """,
    "leaves_files_everywhere": """
        for folder in ("/tmp", "/var/tmp", "/dev/shm", *glob.glob("{cache}/warm/*")):
            open(folder + "/{name}", "w").write("x")
        os.chmod("/tmp", 0)
        os.chmod("/dev/shm", 0)
        """,
    "finds_what_was_left": """
        for folder in ("/tmp", "/var/tmp", "/dev/shm", *glob.glob("{cache}/warm/*")):
            assert not os.path.exists(folder + "/{name}"), folder
            open(folder + "/mine", "w").close()
        """,
    "removes_what_leads_to_it": """
        top = "/".join(__file__.split("/")[:3])
        for path in (top, "/".join(os.getcwd().split("/")[:3])):
            with pytest.raises(OSError): os.rename(path, "/tmp/elsewhere")
            with pytest.raises(OSError): os.chmod(path, 0)
        """,
    "puts_a_link_in_place_of_its_folder": """
        import time
        cell = os.path.dirname(os.getcwd())
        os.rename(cell, cell + "-moved")
        os.symlink("{folder}/victim", cell)
        print("its own words", flush=True)
        time.sleep(0.5)
        """,
    "reads_a_key_of_the_user": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if os.uname().machine == "x86_64":
            for keyring in (-3, -4):
                assert libc.syscall(250, 10, keyring, b"user", b"{name}", 0) == -1
                assert ctypes.get_errno() == 38, os.strerror(ctypes.get_errno())
        """,
    "talks_to_the_hypervisor": """
        with pytest.raises(OSError, match="not supported"):
            socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
        """,
    "mounts_in_a_namespace_of_its_own": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(0x10020000) == 0:
            assert libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == -1 or not {landlock}
        """,
    "signals_the_supervisor": """
        for _ in range(20):
            for number in set(signal.valid_signals()) - {signal.SIGKILL}:
                os.kill(1, number)
        """,
    "is_allowed_the_network": 'socket.create_connection(("127.0.0.1", {port}), 1).close()',
    "works_as_before": """
        assert os.path.exists(__file__) and os.access(os.getcwd(), os.W_OK)
        assert callable(signal.getsignal(signal.SIGALRM)) and not signal.pthread_sigmask(signal.SIG_BLOCK, [])
        """,
}
ALLOWED = "is_allowed_the_network"
IMPORTS = "import glob, os, re, signal, socket, stat, sys, tempfile, pytest\n"


@dataclass
class Attacked:
    suite: Suite
    done: Done


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    folder = tmp_path_factory.mktemp("sandbox")
    suite = Suite(folder)
    (suite.home / "secret").write_text("x")
    (folder / "kept").write_text("kept")
    (folder / "victim").mkdir()
    with (folder / "victim" / "output").open("w") as victim:
        # More than a supervisor keeps of what a cell prints.
        victim.write("secret" * 1000)
        victim.truncate((MAX_OUTPUT_MIB + 1) << 20)
    with (
        socket.create_server(("127.0.0.1", 0)) as service,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        named.bind(f"{folder}/service")
        abstract.bind(f"\0{suite.mark}")
        named.listen()
        abstract.listen()
        port = service.getsockname()[1]
        words = {"{port}": port, "{folder}": folder, "{name}": suite.mark, "{cache}": suite.home / "cache"}
        words["{landlock}"] = has_landlock()
        for number, (name, attack) in enumerate(ATTACKS.items()):
            for word, value in words.items():
                attack = attack.replace(word, str(value))
            body = textwrap.indent(textwrap.dedent(attack.strip("\n")), "    ")
            case = f"{IMPORTS}\ndef test_a():\n{body}\n"
            suite.case(f"c{number:02}_{name}", case, compiles=False, network=name == ALLOWED)
        # One job: each cell follows on the one before.
        yield Attacked(suite, suite.run("--jobs", "1"))


@pytest.mark.parametrize(("number", "name"), list(enumerate(ATTACKS)))
def test_an_attack_ends_in_the_sandbox(number: int, name: str, attacked: Attacked) -> None:
    record = attacked.done.record(f"c{number:02}_{name}")
    assert record["outcome"] == "pass", (record["error_type"], record["message"], record["output_tail"])
    assert "unconfined" not in record


def test_nothing_outside_has_changed(attacked: Attacked) -> None:
    assert (attacked.suite.folder / "kept").read_text() == "kept"
    assert (attacked.suite.folder / "victim" / "output").stat().st_size == (MAX_OUTPUT_MIB + 1) << 20
    assert {path.name for path in (attacked.suite.folder / "victim").iterdir()} == {"output"}
    assert not list(attacked.suite.home.glob(f"cache/warm/*/{attacked.suite.mark}"))
    assert not Path("/tmp", attacked.suite.mark).exists()
    assert list(attacked.suite.temporary.iterdir()) == []


def test_what_a_cell_printed_is_its_own(attacked: Attacked) -> None:
    (record,) = [record for record in attacked.done.records if "link_in_place" in record["case"]]
    assert record["output_tail"] == "its own words\n"


def confined(
    disk: Path,
    body: str,
    read: tuple[str, ...] = (),
    surroundings: str = "",
    write: tuple[str, ...] = (),
    copy: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Run lines of Python in a sandbox."""
    program = f"""
import os, sys
from pathlib import Path
from pt2bugs.engine import linux
from pt2bugs.engine.sandbox import Sandbox, Surroundings
linux.enter_namespace()
if (pid := os.fork()) == 0:
    linux.mount_own_proc()
    sandbox = Sandbox(Path({str(disk)!r}), Surroundings({surroundings}))
    view = sandbox.view({read!r}, {write!r}, {copy!r}, network=False)
    if (cell := os.fork()) == 0:
        view.enter()
{textwrap.indent(textwrap.dedent(body), "        ")}
        os._exit(0)
    os.waitpid(cell, 0)
    sandbox.take_back()
    os._exit(0)
os.waitpid(pid, 0)
"""
    environ = {**os.environ, "PYTHONPATH": str(HARNESS)}
    return subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)


def test_what_a_cell_writes_is_bounded(tmp_path: Path) -> None:
    body = """
    for folder in (str(sandbox.cells), "/tmp", "/dev/shm"):
        try: open(folder + "/big", "wb").write(bytes(2 << 20))
        except OSError as error: print(folder, error.strerror, flush=True)
    """
    done = confined(tmp_path / "disk", body, surroundings="disk_bytes=1 << 20")
    full = [f"{folder} No space left on device" for folder in (tmp_path / "disk" / "cells", "/tmp", "/dev/shm")]
    assert done.stdout.splitlines() == full, done.stderr


def test_what_a_cell_may_write_is_a_copy(tmp_path: Path) -> None:
    """As whoever reads a folder of isolate or triage afterwards would follow a link, or wait at a pipe for ever."""
    kept, left = tmp_path / "kept", tmp_path / "left"
    for folder in (kept, left):
        folder.mkdir()
        (folder / "before").write_text("before")
    (tmp_path / "secret").write_text("secret")
    body = f"""
    for folder in ({str(kept)!r}, {str(left)!r}):
        assert os.listdir(folder) == ["before"]
        os.unlink(folder + "/before")
        os.symlink({str(tmp_path)!r}, folder + "/link")
        os.symlink({str(tmp_path / "secret")!r}, folder + "/before")
        os.mkfifo(folder + "/pipe")
        open(folder + "/written", "w").write("written")
    try: open({str(kept)!r} + "/big", "wb").write(bytes(2 << 20))
    except OSError as error: print(error.strerror, flush=True)
    """
    done = confined(tmp_path / "disk", body, surroundings="disk_bytes=1 << 20", write=(str(kept),), copy=(str(left),))
    assert done.stdout == "No space left on device\n", done.stderr
    assert sorted(path.name for path in kept.iterdir()) == ["big", "written"]
    assert (kept / "written").read_text() == "written"
    assert {path.name: path.read_text() for path in left.iterdir()} == {"before": "before"}
    assert (tmp_path / "secret").read_text() == "secret"


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm"])
def test_what_a_cell_reads_may_lie_where_it_has_a_folder_of_its_own(place: str, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=place) as folder, tempfile.TemporaryDirectory(dir=place) as other:
        read = Path(folder, "a", "file")
        read.parent.mkdir()
        read.write_text("seen")
        body = f"print(open({str(read)!r}).read(), os.path.exists({other!r}), flush=True)"
        done = confined(tmp_path / "disk", body, read=(str(read.parent),))
    assert done.stdout == "seen False\n", done.stderr


def test_a_program_in_a_folder_of_everybody_is_shown_alone(tmp_path: Path) -> None:
    home = str(Path.home())
    assert beside(f"{home}/a.py") == f"{home}/a.py"
    assert beside("/tmp/a.py") == "/tmp/a.py"
    assert beside("/a.py") == "/a.py"
    assert beside(str(tmp_path / "a.py")) == str(tmp_path)


def test_an_environment_needs_no_folder_of_everybody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = os.pathsep.join(["/", "/tmp", str(Path.home()), str(tmp_path), "relative", ""])
    needed = environment_folders({"PATH": path})
    assert str(tmp_path) in needed
    assert not {"/", "/tmp", str(Path.home()), "relative", ""} & set(needed)


def test_a_filter_can_be_added_to_that_of_a_container() -> None:
    program = """
from pt2bugs.engine.linux import drop_privileges
from pt2bugs.engine.restrictions import has_filters, restrict
before = has_filters()
drop_privileges()
restrict()
print(before, has_filters())
"""
    environ = {**os.environ, "PYTHONPATH": str(HARNESS)}
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() in (["True", "True"], ["False", "False"])
