"""Defer SIGINT during imports and resend it until it is handled.

SIGTERM, which a batch system sends before it ends a job, is handled in the same way.
"""

import _thread
import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

# The handled signals and their default handlers.
SIGNALS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
RESEND_SECONDS = 0.03
IMPORT = "<frozen importlib._bootstrap>"


class DeferredSignals:
    """Defer Ctrl-C while a library is imported, then resend it until it ends the block.

    The signal to terminate is deferred, too.  Compiled libraries may end the process with a
    segmentation fault if they are interrupted while they are loaded.  And an interrupt may be
    lost: Python prints and forgets one that comes while garbage is collected, and so do callbacks
    of compiled code.  The block is the work of a whole process, so that nothing is left to
    interrupt after it.
    """

    received: int | None = None  # the number of the first signal that the process received

    def __init__(self) -> None:
        usual = [number for number, by in SIGNALS.items() if signal.getsignal(number) == by]
        main = threading.current_thread() is threading.main_thread()
        self._signals, self._over = usual if main else [], False

    def __enter__(self) -> None:
        for number in self._signals:
            signal.signal(number, self._interrupt)
        if self._signals:
            sys.unraisablehook = _ignored

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt, except during an import, and resend the signal later."""
        if self._over:
            return
        DeferredSignals.received = DeferredSignals.received or number
        timer = threading.Timer(RESEND_SECONDS, self._resend)
        timer.daemon = True
        timer.start()
        # Cleanup after an interrupt, such as writing a checkpoint, is not interrupted again.
        if not _is_loading(frame) and not is_interrupt(sys.exc_info()[1]):
            raise KeyboardInterrupt

    def _resend(self) -> None:
        """Resend the signal, which also ends blocking calls of the operating system."""
        main = threading.main_thread().ident
        if self._over or main is None:
            return
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(main, DeferredSignals.received or signal.SIGINT)
        else:
            _thread.interrupt_main()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over = True
        if DeferredSignals.received and is_interrupt(problem):
            _end()


def interrupted() -> int:
    """The exit code: 128 and the number of the signal, as in shells; 130 after Ctrl-C."""
    return 128 + (DeferredSignals.received or signal.SIGINT)


def _is_loading(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename != IMPORT:
        frame = frame.f_back
    return frame is not None


def is_interrupt(problem: BaseException | None) -> bool:
    """Return whether an exception is an interrupt, or was caused by one."""
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__context__
    return problem is not None


def _ignored(what: Any) -> None:
    """Return whether Python ignored an interrupt at this point; it is sent again later."""
    if not issubclass(what.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(what)


def _end() -> None:
    """Exit at once: an orderly exit waits for threads, and may wait for a compilation."""
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.flush()
        sys.stdout.flush()
    os._exit(interrupted())
