"""`cclab`, and `python -m cclab`: the command line, and what Ctrl-C does while it loads."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

_INTERRUPTED = 130


def main() -> None:
    """Entry point of the `cclab` command."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started this wants it ignored
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from cclab import cli

        cli.main()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        sys.exit(_INTERRUPTED)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """An exception, as ever; but while a module loads, where one may be lost or come out as another, the end."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            show_cursor = b"\x1b[?25h" if os.isatty(2) else b""  # a bar hides it
            os.write(2, show_cursor + b"Interrupted.\n")
            getattr(sys.modules.get("cclab.folders"), "remove_temporary", lambda: None)()
            os._exit(_INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
