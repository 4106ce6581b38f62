"""Extension of griffe: examples in docstrings are shown as the sessions that they are."""

import re

import griffe

SESSION = re.compile(r"^>>> (?:.+\n?)+", re.M)


class Doctests(griffe.Extension):
    """Puts each session into a fence."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Of anything that has a docstring."""
        if obj.docstring:
            obj.docstring.value = SESSION.sub(
                lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", obj.docstring.value
            )
