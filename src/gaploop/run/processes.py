"""Calls spread over worker processes of this machine."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import parent_process
from multiprocessing.connection import wait as wait_handles
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, TypeVar

from gaploop.core.errors import GaploopError, UsageError

A = TypeVar("A")
B = TypeVar("B")


class Processes:
    """Runs calls in up to `workers` fresh processes.

    Workers are spawned, never forked: a fork of a process with threads (MuJoCo's pool,
    torch) may hang. The function must be importable by name and items and results must
    survive the way there and back. Workers end with the map, and with this process,
    however it ends.
    """

    def __init__(self, workers: int | None = None) -> None:
        """`workers` processes; one a usable core when not given."""
        if workers is not None and workers < 1:
            raise UsageError(f"{workers} worker processes cannot run anything.", hint="Give 1 up.")
        self.workers = workers or _usable_cores()

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> Sequence[B]:
        """`function` of each item, in order.

        The first error cancels what has not begun, stops what has, and is raised with a
        note naming the item. So does Ctrl-C.

        Raises:
          UsageError: when the function cannot be sent to another process.
          GaploopError: when a worker dies.
        """
        work = list(items)
        if not work:
            return []
        _require_sendable(function)
        context = _Context()
        pool = ProcessPoolExecutor(
            min(self.workers, len(work)), mp_context=context, initializer=_begin
        )
        try:
            futures = [pool.submit(_call, function, item) for item in work]
            wait(futures, return_when=FIRST_EXCEPTION)
            return _results(function, futures)
        except BaseException:
            # a running call would hold up the error for as long as it takes
            context.stop()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _usable_cores() -> int:
    """Cores this process may run on; all of them where the system cannot say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Context(SpawnContext):
    """Spawns, and remembers whom, so that a failed map can stop its own workers."""

    def __init__(self) -> None:
        super().__init__()
        self._started: list[BaseProcess] = []

    def Process(self, *args: Any, **kwargs: Any) -> BaseProcess:  # type: ignore[override]
        worker = SpawnContext.Process(*args, **kwargs)
        self._started.append(worker)
        return worker

    def stop(self) -> None:
        for worker in self._started:
            if worker.pid is not None:
                worker.terminate()


def _results(function: Callable[..., B], futures: list[Future[Any]]) -> list[B]:
    """Results in order, or the first failure among the finished calls."""
    name = getattr(function, "__qualname__", repr(function))
    for index, future in enumerate(futures):
        if not future.done() or future.cancelled():
            continue
        error = future.exception()
        if isinstance(error, BrokenProcessPool):
            raise GaploopError(
                f"A worker process died while running {name}, killed from outside "
                "or out of memory.",
                hint="Run it again, with fewer workers if memory is short.",
            ) from None
        if error is not None:
            error.add_note(f"raised by {name} for item {index} of {len(futures)}")
            raise error
    return [future.result() for future in futures]


def _call(function: Callable[[A], B], item: A) -> B:
    try:
        return function(item)
    except Exception as error:
        try:
            ForkingPickler.loads(bytes(ForkingPickler.dumps(error)))  # type: ignore[attr-defined]
        except Exception:
            # an exception class that cannot be rebuilt would take the whole pool with it
            raise RuntimeError(f"{type(error).__name__}: {error}") from None
        raise


def _begin() -> None:
    """In a new worker: leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent.sentinel,), daemon=True).start()


def _follow(sentinel: int) -> None:
    wait_handles([sentinel])
    # the parent was killed: nobody is left to hand a result to
    os._exit(1)


def _require_sendable(function: Callable[..., Any]) -> None:
    try:
        ForkingPickler.dumps(function)
    except Exception as error:
        name = getattr(function, "__qualname__", repr(function))
        raise UsageError(
            f"{name} cannot run in another process: {error}.",
            hint="Define it at the top of a module, or use Serial.",
        ) from None
