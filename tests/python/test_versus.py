"""Two congestion controls beside each other: what is said of them, and the page."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from cclab import versus
from cclab.cli import run_cli
from conftest import in_a_process, write

QUESTION = versus.Question("cubic", "vegas", rate="5 Mbit/s", rtt="20 ms", duration="8 s", seeds=3)
ASKED = ["--rate", "5 Mbit/s", "--rtt", "20 ms", "--duration", "8 s", "--seeds", "3"]


class Study:
    """Tables made by hand: three seeds of four mixtures over a link of 10 Mbit/s."""

    seeds = (1, 2, 3)

    def __init__(self, goodput: dict[tuple[str, str], list[float]]) -> None:
        self.goodput = goodput

    def table(self, name: str) -> pl.DataFrame:
        mixes = dict.fromkeys(mix for mix, _ in self.goodput)
        if name == "links":
            link = {"name": "bottleneck", "sojourn_mean_s": 0.01, "drops": 1, "losses": 1, "arrived": 100}
            return pl.DataFrame([{"mix": mix, "seed": s, **link} for mix in mixes for s in self.seeds])
        flow = {"rtt_p95_s": 0.05, "segments_retransmitted": 1, "segments_sent": 50}
        return pl.DataFrame([
            {"mix": mix, "seed": s, "cc": law, "goodput_bps": x[s - 1] * 1e6, **flow}
            for (mix, law), x in self.goodput.items() for s in self.seeds
        ])  # fmt: skip


def answered(vegas: list[float], cubic: list[float]) -> versus.Answer:
    goodput = {
        ("1 cubic", "cubic"): [10.0, 10.1, 9.9], ("1 vegas", "vegas"): [9.0, 9.1, 8.9],
        ("2 cubic", "cubic"): [10.0, 10.0, 10.0], ("2 vegas", "vegas"): [10.0, 10.0, 10.0],
        ("1 cubic + 1 vegas", "vegas"): vegas, ("1 cubic + 1 vegas", "cubic"): cubic,
    }  # fmt: skip
    return versus.Answer(QUESTION, Study(goodput))  # type: ignore[arg-type]


def test_harm_is_what_the_definition_of_ware_and_others_says() -> None:
    # (solo - mixed) / solo: alone 10, beside the other 8
    answer = answered([2.0, 2.02, 1.98], [8.0, 8.08, 7.92])
    assert answer.harm("cubic", "vegas").value == pytest.approx(0.2)
    assert answer.harm("vegas", "cubic").value == pytest.approx((9 - 2) / 9, rel=1e-3)
    # one more of its own kind: of two equal flows either has half
    assert answer.harm("cubic", "cubic").value == pytest.approx(0.5, rel=1e-3)


def test_a_share_is_of_the_goodput_and_judged_by_its_interval() -> None:
    fewer = answered([2.0, 2.02, 1.98], [8.0, 8.08, 7.92]).sentences
    assert "takes 20 % of the goodput, less than an equal share (an equal share is 50 %)" in fewer[2]
    assert ", an equal share (" in answered([5.0, 5.02, 4.98], [5.0, 5.0, 5.0]).sentences[2]
    assert "these runs cannot tell" in answered([2.0, 5.0, 8.0], [8.0, 5.0, 2.0]).sentences[2]


def test_a_difference_is_told_with_its_interval_seed_by_seed() -> None:
    # 9.0/10, 9.1/10.1, 8.9/9.9: always a tenth less, far surer than two means with their spread
    alone = answered([5.0, 5.0, 5.0], [5.0, 5.0, 5.0]).sentences[0]
    assert "vegas has 10 % less goodput [9.75, 10.2] than cubic" in alone
    assert "2 % of the packets lost" in alone
    assert "10 ms in the queue where cubic has 10 ms." in alone
    assert "within 2 %" in answered([5.0] * 3, [5.0] * 3).sentences[1]  # two of a kind: the same total


def test_mixtures_are_each_law_alone_among_its_own_beside_the_other_and_the_incumbent() -> None:
    mixes = set(versus.Question("a", "b", flows=4, against="r").mixes())
    assert mixes == {
        "1 a", "1 b", "1 r", "4 a", "4 b", "4 r", "3 a + 1 b", "3 a", "1 a + 3 b", "3 b", "1 a + 3 r", "3 r", "1 b + 3 r",
    }  # fmt: skip


def test_vegas_yields_to_cubic_in_a_deep_buffer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # What every comparison of the two since Mo et al. (Infocom 1999) has found of loss-based laws beside Vegas.
    out = tmp_path / "answer"
    assert run_cli(["compare", "cubic", "vegas", *ASKED, "--buffer", "2 BDP", "--json", "--out", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "less than an equal share" in found["answer"][2]
    lack = "Not validated of vegas: Shares against loss-based laws"
    assert any(remark.startswith(lack) for remark in found["remarks"])
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "cubic or vegas?" in page
    assert lack in page
    assert page.count("<svg") == 7
    over_time = versus.load(out).figures()["throughput-0"]
    assert over_time.axes[0].get_title(loc="left").startswith("1 cubic + 1 vegas, seed ")
    again = page.partition("Run it again")[2]
    assert "cclab compare cubic vegas" in again
    assert "--seeds 3" in again
    # defaults, too, which another version may have changed
    assert {"--rate", "--rtt", "--buffer", "--queue", "--flows", "--duration", "--within"} <= set(again.split())
    assert run_cli(["compare", "cubic", "vegas", *ASKED, "--buffer", "2 BDP", "--out", str(out)]) == 0  # kept runs
    assert capsys.readouterr().err.startswith("15 runs of 5 mixtures, 15 of them finished before.\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["cubic", "cubik"], '"cubik"'),
        (["cubik", "renno"], "cubik, renno: no such folders, nor congestion controls"),
        (["cubic", "lia"], "lia: couples several paths, and flows have one here; allowed: "),
        (["cubic", "reno", "--against", "lia"], "lia: couples several paths"),
        (["cubic", "cubic"], "two different"),
        (["cubic", "reno", "--against", "rino"], '"rino"'),
        (["cubic", "reno", "--rate", "50"], '\'--rate\': "50" has no unit; write e.g. "10 Mbit/s"'),
        (["cubic", "reno", "--rtt", "10"], "'--rtt'"),
        (["cubic", "reno", "--duration", "soon"], "'--duration'"),
        (["cubic", "reno", "--buffer", "9"], "--buffer"),
        (["cubic", "reno", "--queue", "taildrop"], "--queue"),
        (["cubic", "reno", "--threshold", "9 packets"], "--threshold"),
        (["cubic", "reno", "--quantity", "goodput"], "--quantity"),
    ],
)
def test_mistakes_are_told(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["compare", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_folder_of_something_else_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").touch()
    assert run_cli(["compare", "cubic", "reno", "--out", str(tmp_path)]) == 2
    told = f"error: {tmp_path}: holds something that is no comparison (mine.txt); name another folder\n"
    assert capsys.readouterr().err == told
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_options_of_laws_are_no_options_of_folders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["compare", str(tmp_path), str(tmp_path), "--rtt", "10 ms"]) == 2
    assert "--rtt" in capsys.readouterr().err


def test_the_step_of_a_queue_is_said_and_can_be_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--queue", "step", "--ecn", "--duration", "4 s", "--seeds", "3", "--rate", "10 Mbit/s"]
    assert run_cli(["compare", "dctcp", "cubic", *few]) == 0
    assert "step of 1 BDP, which marks above 20 packets" in capsys.readouterr().out
    assert run_cli(["compare", "dctcp", "cubic", *few, "--threshold", "5 packets", "--out", str(tmp_path / "o")]) == 0
    assert "which marks above 5 packets" in capsys.readouterr().out
    page = (tmp_path / "o/report.html").read_text(encoding="utf-8")
    assert "marks above 5 packets" in page
    assert "--threshold &#39;5 packets&#39;" in page


def test_the_page_of_a_law_in_python_is_made_again_without_it(tmp_path: Path) -> None:
    law = "import cclab\n\nclass Own(cclab.CongestionControl):\n"
    law += "    def on_ack(self, ack): pass\n    def on_congestion(self, event): pass\n"
    write(tmp_path / "own.py", law)
    few = ["--duration", "2 s", "--seeds", "3", "--rate", "1 Mbit/s"]
    asked = ["compare", "own", "reno", "--algorithms", "own.py", *few, "--out", "o"]
    assert in_a_process(*asked, cwd=tmp_path).returncode == 0
    (tmp_path / "own.py").unlink()
    (tmp_path / "o/report.html").unlink()
    again = in_a_process("report", "o", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, "o/report.html\n"), again.stderr


def test_the_table_names_a_mixture_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["compare", "cubic", "bbr3", "--flows", "4", "--against", "reno", "--duration", "4 s", "--seeds", "3"]
    assert run_cli([*asked, "--rate", "10 Mbit/s"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 140
    for name in ("3 bbr3 + 1 cubic", "1 bbr3 + 3 reno"):
        assert [line for line in lines if line.startswith(name)]
