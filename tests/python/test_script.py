"""Timeline scripts through the command line and the core."""

import json
import signal
from pathlib import Path

import pytest

from cclab import _core

TIMELINES = Path(__file__).parents[1] / "timelines"
SCRIPTS = sorted(TIMELINES.glob("*.pkt"))

# The peer's SYN takes one sequence number (RFC 9293 §3.4), so the right answer is `ack 1`.
WRONG = """\
0    socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+0   < S 0:0(0) win 32792 <mss 1460>
+0   > S. 0:0(0) ack 2 <...>
"""


def test_all_of_ours_pass(cli):
    assert SCRIPTS
    status, out, err = cli("script", *SCRIPTS)
    assert status == 0, out
    assert out.splitlines() == [f"pass  {path}" for path in SCRIPTS]
    assert f"{len(SCRIPTS)} passed, 0 failed." in err


def test_a_folder_is_all_scripts_below_it_and_never_none(cli, tmp_path):
    status, out, err = cli("script", TIMELINES)
    assert status == 0, out
    assert f"{len(SCRIPTS)} passed, 0 failed." in err
    for option in ([], ["--report"]):
        status, out, err = cli("script", *option, tmp_path)
        assert (status, out) == (2, "")
        assert f"there is no script (.pkt) below {tmp_path}" in err


def test_the_first_difference_is_shown(cli, tmp_path):
    wrong = tmp_path / "wrong.pkt"
    wrong.write_text(WRONG)
    status, out, err = cli("script", SCRIPTS[0], wrong)
    assert status == 1
    assert f"pass  {SCRIPTS[0]}\nFAIL  {wrong}\n" in out
    assert f"{wrong}:5: " in out
    assert "ack" in out
    assert "1 passed, 1 failed." in err
    wrong.write_text(WRONG.replace("ack 2", "ack 1"))
    assert cli("script", wrong)[0] == 0


@pytest.mark.parametrize("text", ["", "nonsense", "+0 < S 0:0(0", "+0 > . 1:1(0) ack 1", "\x00", "0.1 " * 9999])
def test_nonsense_is_a_verdict_and_no_crash(text):
    verdict = json.loads(_core.run_script(text, "x"))
    assert set(verdict) == {"name", "passed", "understood", "line", "message", "notes"}
    assert not verdict["passed"]  # an empty script is one too: it tests nothing


def test_a_shell_command_is_told_and_not_run(tmp_path):
    verdict = json.loads(_core.run_script(f"`tee {tmp_path / 'x'}`\n", "x"))
    assert verdict["message"].startswith("not supported: the command tee")
    assert list(tmp_path.iterdir()) == []


class Stopped(Exception):
    pass


def test_a_signal_stops_a_script():
    def stop(*_):
        raise Stopped

    lines = (f"+.01 < P. {n}:{n + 1}(1) ack 1 win 257\n" for n in range(1, 300_000))
    text = WRONG.replace("ack 2", "ack 1") + "+.1 < . 1:1(0) ack 1 win 257\n" + "".join(lines)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(Stopped):
            _core.run_script(text, "long")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_report_counts_by_folder(cli, tmp_path: Path) -> None:
    for folder, name, text in [
        ("a", "good.pkt", Path(SCRIPTS[0]).read_text()),
        ("a", "bad.pkt", "0 close(3) = 0\n"),
        ("b/c", "unknown.pkt", "0 splice(3) = 0\n"),
        ("b/c", "unread.pkt", "0 close(3\n"),
    ]:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / name).write_text(text)
    (tmp_path / "b" / "bytes.pkt").write_bytes(b"\xff\xfe")
    (tmp_path / "b" / "nowhere.pkt").symlink_to(tmp_path / "gone")
    status, out, _ = cli("script", "--report", tmp_path)
    counts = {line.split()[0]: line.split()[1:] for line in out.splitlines()}
    assert status == 1
    assert counts[str(tmp_path / "a")] == ["1", "1", "0"]
    assert counts[str(tmp_path / "b/c")] == ["0", "0", "2"]
    assert counts[str(tmp_path / "b")] == ["0", "0", "2"]
    assert counts["all"] == ["1", "1", "4"]
    status, out, _ = cli("script", tmp_path)
    assert (status, "bytes.pkt: not a text file in UTF-8" in out) == (1, True)
    assert cli("script", tmp_path / "b" / "bytes.pkt")[::2] == (
        2,
        f"error: {tmp_path}/b/bytes.pkt: not a text file in UTF-8\n",
    )
    assert cli("script", "--report", *SCRIPTS)[0] == 0
