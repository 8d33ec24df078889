"""The console script `hyperplanes`: Ctrl-C ends it at once, from its first line on, and leaves nothing half done.

Python's own answer, an exception wherever the program is, does not do here: JAX may swallow it, or crash over it, and
it waits until compiled code returns. A thread ends the process instead. This module lies beside the package because
importing anything of that takes seconds.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable
from multiprocessing import active_children

INTERRUPTED = 130
"""Exit code."""
STDERR = 2
SHOW_CURSOR = b"\x1b[?25h"
"""Which a progress bar may have hidden."""


class Watch(threading.Thread):
    """Waits for Ctrl-C."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.clean_up: Callable[[], None] | None = None
        self._signals, self._notified = socket.socketpair()
        self._notified.setblocking(False)
        signal.set_wakeup_fd(self._notified.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, lambda number, frame: None)

    def run(self) -> None:
        """End the process when an interruption comes, whatever it does."""
        while self._signals.recv(1)[0] != signal.SIGINT:
            pass
        try:
            if self.clean_up is not None:
                self.clean_up()
            os.write(STDERR, (SHOW_CURSOR if os.isatty(STDERR) else b"") + b"\ninterrupted\n")
            for worker in active_children():
                worker.terminate()
        finally:
            os._exit(INTERRUPTED)


def main() -> int:
    """Run the command line and return its exit code."""
    watch = Watch()
    watch.start()
    from hyperplanes.cli import main as run
    from hyperplanes.files import remove_unfinished

    watch.clean_up = remove_unfinished
    code = run()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done, and Python would die of it while it shuts down
    return code
