"""The option that loads congestion controls written in Python, of every command that can use one."""

from __future__ import annotations

from pathlib import Path

import click


def _load_laws(_ctx: click.Context, _param: click.Parameter, files: tuple[Path, ...]) -> None:
    if files:
        from cclab import laws

        for file in files:
            laws.load(file)


ALGORITHMS = click.option(
    "--algorithms", multiple=True, type=click.Path(path_type=Path), expose_value=False, is_eager=True,
    callback=_load_laws,
    help="A Python file with congestion controls of your own; may be given more than once.",
)  # fmt: skip
