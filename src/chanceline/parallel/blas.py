"""One BLAS thread for every call, so that sums are made in one order whatever the number of cores."""

from __future__ import annotations

import sys
import threading
from typing import Any

from threadpoolctl import ThreadpoolController


class OneThread:
    """While anyone is inside, BLAS has one thread; safe for several threads, unlike `threadpool_limits` by itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._modules = 0
        self._controller: Any = None
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            # Looking for libraries takes a millisecond, and new ones come with new modules.
            if self._modules != len(sys.modules):
                self._controller, self._modules = ThreadpoolController(), len(sys.modules)
            if self._inside == 0:
                self._limits = self._controller.limit(limits=1)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()


ONE_THREAD = OneThread()
