"""A group of commands."""

from __future__ import annotations

import os
import sys
from typing import Any

import click


class Commands(click.Group):
    """Commands in the order in which one meets them, with the nearest name for a misspelt one."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; where a reader goes away that is no failure."""
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # `cclab list | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        return status

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names, for help."""
        return list(self.commands)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that is named."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from cclab.registry import nearest

            ctx.fail(f'There is no command "{args[0]}" ({nearest(args[0], self.commands)}).')
        return super().resolve_command(ctx, args)
