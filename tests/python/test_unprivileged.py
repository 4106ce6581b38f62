"""Live runs and emulations of somebody who may nothing: either they work, in a user namespace, or they are refused in plain words."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cclab.backends import live
from conftest import unspoilt

NOBODY = 65534
DROP = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
# the device in a mount namespace of its own, for everybody, as it is on most machines
OPEN = 'mount --bind "$0/tun" /dev/net/tun && exec "$@"'
TRANSFER = """duration = "2 s"
network = { rate = "10 Mbit/s", rtt = "20 ms" }
flows = [{ cc = "cubic" }]
"""
REFUSALS = ("this process may not make network namespaces (", "/dev/net/tun cannot be used (")

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(
        not live.on_linux() or os.geteuid() != 0 or not shutil.which("setpriv"),
        reason="who runs these tests may drop no privileges (they are for root, and take setpriv), or this is no Linux",
    ),
]


def ran(command, folder):
    path = os.pathsep.join([str(Path(place).resolve()) for place in sys.path if place])
    environment = {**os.environ, "PYTHONPATH": path, "HOME": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def kept_up(done):
    return "could not keep up" not in done.stderr


@pytest.fixture
def folder(tmp_path):
    """A folder that everybody may read, with a scenario."""
    for place in (tmp_path, *tmp_path.parents[:2]):
        place.chmod(0o755)
    (tmp_path / "s.toml").write_text(TRANSFER)
    return tmp_path


@pytest.fixture
def cclab_of_nobody(folder):
    """The command line as nobody would start it: where this interpreter is somebody's own, another one of its version."""
    of_all = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
    for python in (sys.executable, of_all):
        if ran([*DROP, python, "-c", "import cclab.cli, polars, matplotlib"], folder).returncode == 0:
            return [*DROP, python, "-m", "cclab"]
    return pytest.skip("no interpreter with cclab's libraries is for everybody to run")


RUN = ["run", "s.toml", "--backend", "live", "--json"]
EMULATE = ["emulate", "s.toml", "--", "cat", "/proc/sys/net/ipv4/ip_forward"]


@pytest.mark.parametrize("command", [RUN, EMULATE], ids=["run", "emulate"])
def test_nobody_is_served_or_refused_in_plain_words(command, folder, cclab_of_nobody):
    done = unspoilt(lambda: ran([*cclab_of_nobody, *command], folder), kept_up)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or (done.returncode == 1 and any(text in done.stderr for text in REFUSALS)), done.stderr


@pytest.mark.parametrize("command", [RUN, EMULATE], ids=["run", "emulate"])
def test_root_without_capabilities_is_told_why(command, folder):
    """It may not even have a user namespace: no root is mapped into one without CAP_SETFCAP (user_namespaces(7))."""
    bare = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-m", "cclab", *command]
    done = ran(bare, folder)
    assert done.returncode == 1
    assert "this process may not make network namespaces (Operation not permitted" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [RUN, EMULATE], ids=["run", "emulate"])
def test_nobody_is_served_in_a_user_namespace(command, folder, cclab_of_nobody):
    subprocess.run(["mknod", "-m", "666", folder / "tun", "c", "10", "200"], check=True)
    own = ["unshare", "--mount", "sh", "-c", OPEN, str(folder)]
    allowed = [*own, *DROP, "unshare", "--user", "--net", "true"]
    if (tried := ran(allowed, folder)).returncode:
        pytest.skip(f"user namespaces are not for everybody here: {tried.stderr}")
    done = unspoilt(lambda: ran([*own, *cclab_of_nobody, *command], folder), kept_up)
    if not kept_up(done):
        pytest.skip(done.stderr)  # without real-time priority a busy machine spoils any run
    assert done.returncode == 0, done.stderr
    if command is EMULATE:
        assert done.stdout == "1\n", "of the host, not of the machine"
