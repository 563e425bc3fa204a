"""The same function for many items on several processes, results in the order of the items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, as_completed
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits

from chanceline.errors import InputError
from chanceline.experiments.engines import open_engine

Item = TypeVar("Item")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
CHUNKS_PER_WORKER = 8


def ordered_map(
    function: Callable[..., Result],
    items: Sequence[Item],
    common: Sequence[Any] = (),
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """[function(item, *common) for item in items]; `progress` hears (done, total)."""
    if workers < 1:
        raise InputError(f"The number of workers must be at least 1, but is {workers}.")
    results: list[Any] = [None] * len(items)
    if workers == 1 or len(items) < 2:
        for place, item in enumerate(items):
            results[place] = _batch(function, [item], common)[0]
            _tell(progress, place + 1, len(items))
        return results
    # Neighbours often take equally long, so every chunk takes items from everywhere.
    chunks = min(len(items), CHUNKS_PER_WORKER * workers)
    with open_engine("processes", workers=min(workers, chunks)) as executor:
        futures: dict[Future[list[Result]], range] = {
            executor.submit(_batch, function, items[start::chunks], common): range(start, len(items), chunks)
            for start in range(chunks)
        }
        done = 0
        for future in as_completed(futures):
            for place, result in zip(futures[future], future.result(), strict=True):
                results[place] = result
            done += len(futures[future])
            _tell(progress, done, len(items))
    return results


def _batch(function: Callable[..., Result], items: Iterable[Item], common: Sequence[Any]) -> list[Result]:
    # One BLAS thread: sums are then made in one order whatever the number of cores.
    with threadpool_limits(limits=1):
        return [function(item, *common) for item in items]


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)
