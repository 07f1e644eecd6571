"""Blocks of work with the launcher awake and stopped, in turns: what its sampling costs, within one process.

Two processes of the same training differ by more than sampling costs; two blocks of one process do not. The launcher (the parent
process, `gpuprof record`) is stopped by SIGSTOP for every other block, in the order on, off, off, on, so that a drift hits both.
"""

import os
import signal
import time


def alternate(work, blocks):
    """Calls `work` (which returns its figure) `blocks` times; {"on": [...], "off": [...]}, the n-th of both are neighbours."""
    figures = {"on": [], "off": []}
    try:
        for number in range(blocks):
            state = "on" if number % 4 in (0, 3) else "off"
            os.kill(os.getppid(), signal.SIGCONT if state == "on" else signal.SIGSTOP)
            time.sleep(0.02)  # until the launcher has noticed
            figures[state].append(round(work(), 4))
    finally:
        os.kill(os.getppid(), signal.SIGCONT)
    return figures
