"""Ctrl-C at a time when it does no harm, and until it is heard."""

import _thread
import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

INTERRUPTED = 130  # the exit code: 128 and the number of the signal, as shells have it
SOON = 0.1  # seconds
IMPORT = "<frozen importlib._bootstrap>"


class WellTimed:
    """Puts Ctrl-C off while a library is loaded, and repeats it until the block ends by it.

    Compiled libraries may end the process with a segmentation fault if they are interrupted
    while they are loaded.  And an interrupt may be lost: Python prints and forgets one that
    comes while garbage is collected, and so do callbacks of compiled code.
    """

    def __init__(self) -> None:
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self._applies = usual and threading.current_thread() is threading.main_thread()
        self._came = False

    def __enter__(self) -> None:
        if self._applies:
            signal.signal(signal.SIGINT, self._interrupt)
            sys.unraisablehook = _ignored

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Interrupt, unless it has to wait; in any case, once more in a while."""
        self._came = True
        again = threading.Timer(SOON, _thread.interrupt_main)
        again.daemon = True
        again.start()
        # What an interrupt has begun, as writing a checkpoint, is not interrupted.
        if not _is_loading(frame) and not _is_interrupt(sys.exc_info()[1]):
            raise KeyboardInterrupt

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._applies:
            return
        sys.unraisablehook = sys.__unraisablehook__
        if self._came:  # and will come again, until the process has ended
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            atexit.register(_end)
        else:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _is_loading(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != IMPORT:
        frame = frame.f_back
    return frame is not None


def _is_interrupt(problem: BaseException | None) -> bool:
    """Whether this is an interrupt, or what has become of one."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__context__
    return problem is not None


def _ignored(what: Any) -> None:
    """An interrupt that Python ignores is not worth a word: it comes again."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _end() -> None:
    """Leave at once: what is still being compiled may not survive an orderly end."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
        sys.stdout.flush()
    os._exit(INTERRUPTED)
