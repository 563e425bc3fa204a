"""The workers of a Dask cluster as an executor whose end is a sentence."""

from __future__ import annotations

import math
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, TypeVar

from chanceline.errors import InputError
from chanceline.parallel.losses import WorkersLostError, obituary

Value = TypeVar("Value")

COUNT_SECONDS = 5.0
CONNECT_SECONDS = 10.0


class DaskWorkers(Executor):
    """The workers of a Dask cluster; Dask itself does again what a dead worker had in hand."""

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self._client = executor._client
        self._counted = (-math.inf, 1)

    @property
    def workers(self) -> int:
        """Threads of the cluster, which may grow: asked for now and then."""
        now = time.monotonic()
        if now - self._counted[0] > COUNT_SECONDS:
            with _alive():
                self._counted = now, sum(self._client.nthreads().values()) or 1
        return self._counted[1]

    def submit(self, function: Callable[..., Value], /, *args: Any, **kwargs: Any) -> Future[Value]:
        with _alive():
            future: Future[Value] = self._executor.submit(function, *args, **kwargs)
        return future

    def share(self, common: Sequence[Any]) -> Any:
        """A task that gives `common`: unlike scattered data, it can be made again when all workers that had it are gone."""
        import dask

        # Dask warns of more than 10 MB in a task; here they go to every worker once.
        with _alive(), dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self._client.submit(pickle.loads, pickle.dumps(tuple(common), protocol=pickle.HIGHEST_PROTOCOL), pure=False)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._executor.shutdown(wait=wait)


@contextmanager
def open_dask(scheduler: str) -> Iterator[Executor]:
    """The workers of the cluster at this address; with TLS, the certificates come from Dask's own settings."""
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("the dask engine needs distributed: pip install 'chanceline[dask]'") from error
    _check_certificates(scheduler)
    try:
        client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {scheduler}; start one or mend the address") from error
    with client:
        yield DaskWorkers(client.get_executor(pure=False))


def _check_certificates(scheduler: str) -> None:
    """Refuse TLS without certificates, and the reverse; Dask's client would, but stumbles over its own ruins later."""
    from distributed.security import Security

    try:
        settings = Security().get_connection_args("client")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"the certificates in Dask's settings (distributed.comm.tls) cannot be used: {reason}") from error
    encrypted = scheduler.startswith("tls://")
    if encrypted and settings.get("ssl_context") is None:
        raise InputError(f"{scheduler} asks for TLS; name certificate and key in Dask's settings (distributed.comm.tls)")
    if not encrypted and settings.get("require_encryption"):
        raise InputError(f"Dask's settings require encryption; reach the scheduler at a tls:// address instead of {scheduler}")


def is_dasks(thing: object) -> bool:
    """Whether a thing, such as an executor or an error, is of Dask's making."""
    return type(thing).__module__.partition(".")[0] == "distributed"


@contextmanager
def _alive() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if not (is_dasks(error) or isinstance(error, OSError)):
            raise
        raise WorkersLostError(obituary(error)) from error
