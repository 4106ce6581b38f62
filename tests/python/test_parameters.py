"""What the table of parameters of each model page says of defaults, bounds and choices is what the registry says.

Every parameter has a row with its default, in words where it is computed. What is allowed is compared where a table has a column of it.
"""

import re
from pathlib import Path
from typing import Any

import pytest

import cclab
from cclab import registry

MODELS = Path(__file__).parents[2] / "docs" / "models"
ENTRIES = [
    (kind, entry)
    for kind in ("algorithms", "queues", "schedulers", "routing")
    for entry in registry.registered()[kind]
    if entry["params"]
]
SCALES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "%": 0.01}
POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")

Row = dict[str, str]


def table(page: str) -> dict[str, Row]:
    """Cells by parameter and by column. A row may be of several parameters."""
    section = (MODELS / f"{page}.md").read_text().split("\n## Parameters\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    assert lines, f"{page}.md has no table of parameters"
    head, _, *body = [[cell.strip() for cell in line] for line in lines]
    found = {}
    for cells in body:
        row = dict(zip(head, cells, strict=True))
        names = re.findall("`(.+?)`", row["name"])
        parts = {column: cell.split(", ") for column, cell in row.items()}
        for i, name in enumerate(names):
            found[name] = {c: parts[c][i] if len(parts[c]) == len(names) else cell for c, cell in row.items()}
    return found


def value(text: str) -> tuple[float, str] | bool | str:
    """What is written: a number, in SI where there is a unit of it, and the unit that is not; or a word."""
    text = re.sub('[`"]| \\(.*\\)', "", text)
    text = re.sub(r"(?<=\d)[ ,](?=\d{3}\b)", "", text)
    text = re.sub("10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda power: str(10 ** int(power[1].translate(POWERS))), text)
    if number := re.fullmatch(r"(\d+(?:\.\d+)?)(?:/(\d+))? ?(.*)", text):
        unit = number[3]
        return float(number[1]) / float(number[2] or 1) * SCALES.get(unit, 1), "" if unit in SCALES else unit
    return text == "true" if text in ("true", "false") else text


def agrees(cell: str, param: dict[str, Any], wanted: Any) -> bool:
    """Whether the cell says this default."""
    said = value(cell)
    if wanted in (None, "auto"):
        return isinstance(said, str)
    if not isinstance(said, tuple):
        return said == wanted and isinstance(said, type(wanted))
    wanted = value(wanted if isinstance(wanted, str) else f"{wanted} {param['unit']}")
    alike = said[1] == wanted[1] or param["kind"] not in ("amount", "size")
    return alike and said[0] == pytest.approx(wanted[0], rel=1e-9)


def allows(cell: str, param: dict[str, Any]) -> bool:
    """Whether the cell says these bounds or choices."""
    if param["choices"]:
        return [value(choice) for choice in cell.split(", ")] == param["choices"]
    if param["min"] is None:
        return param["kind"] != "flag" or cell in ("", "`true`, `false`")
    low, _, high = re.sub(" to ", " … ", cell).partition(" … ")
    unit = next((unit for unit in SCALES if high.endswith(f" {unit}")), "")
    bounds = [value(f"{low} {unit}"), value(high)]
    wanted = [value(f"{param[bound]:f} {param['unit']}") for bound in ("min", "max")]
    return all(isinstance(b, tuple) and b[0] == pytest.approx(w[0]) for b, w in zip(bounds, wanted, strict=True))


@pytest.mark.parametrize(("kind", "entry"), ENTRIES, ids=[f"{kind}-{entry['name']}" for kind, entry in ENTRIES])
def test_the_page_has_the_defaults_and_the_bounds(kind, entry):
    rows, wrong = table("multipath" if kind == "schedulers" else entry["name"]), []
    for param in entry["params"]:
        row = rows[param["name"]]
        if other := re.match(r"as \[(.+)\]", row.get("default", "")):
            row = table(other[1])[param["name"]]
        said = next(row[c] for c in ("default", "default (`linux`)", "ns2") if c in row)
        paper = param["default"] if param["paper_default"] is None else param["paper_default"]
        if param["name"] == "profile":
            continue  # its columns are the profiles
        if not agrees(said, param, param["default"]):
            wrong.append(f"{param['name']}: default {said}, not {param['default']}")
        if not agrees(row.get("default (`paper`)", said), param, paper):
            wrong.append(f"{param['name']}: default of the paper flavour {row.get('default (`paper`)')}, not {paper}")
        if "allowed" in row and not allows(row["allowed"], param):
            bounds = param["choices"] or (param["min"], param["max"])
            wrong.append(f"{param['name']}: allowed {row['allowed']}, not {bounds} {param['unit']}")
    assert wrong == []


@pytest.mark.parametrize(
    ("name", "profile"), [("aodv", "ns2"), ("aodv", "rfc3561"), ("dsr", "ns2"), ("dsr", "rfc4728")]
)
def test_the_page_has_what_a_profile_brings(name, profile):
    network = cclab.Wireless("chain", hops=4, routing={"name": name, "profile": profile})
    scenario = cclab.Scenario(duration="10 s", network=network, flows=[cclab.Flow(cc="reno")])
    found = scenario.resolved()["media"][0]["routing"]["params"]
    rows, kinds = table(name), {p["name"]: p for p in registry.find(name)[1]["params"]}
    said = {p: rows[p.removesuffix("_s")][profile] for p in found if p != "profile"}
    assert {
        p: (cell, found[p]) for p, cell in said.items() if not agrees(cell, kinds[p.removesuffix("_s")], found[p])
    } == {}


@pytest.mark.parametrize("page", sorted({"multipath" if kind == "schedulers" else e["name"] for kind, e in ENTRIES}))
def test_the_page_has_no_parameter_that_is_not(page):
    of = [e for kind, e in ENTRIES if page == ("multipath" if kind == "schedulers" else e["name"])]
    known = {param["name"] for entry in of for param in entry["params"]}
    assert [name for name, row in table(page).items() if row.get("where") != "flow" and name not in known] == []
