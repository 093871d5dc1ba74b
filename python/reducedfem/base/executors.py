"""Distribution of independent tasks over an executor: threads, processes or a cluster.

Tasks and their boundaries never depend on the executor or its number of workers, so neither do the
bits of their results. A few tasks for each worker are submitted at a time; later ones are asked for
when they are due. Data that all tasks need travels once to each worker, by its hash; it is sent
again to workers that join later.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import pickle
import socket
import threading
import traceback
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from typing import Any, NamedTuple

from reducedfem.base.quiet import silenced
from reducedfem.base.run import become_worker, processors
from reducedfem.errors import InputError, InputTypeError, WorkerError

__all__ = ["Executors", "Outcome", "Pool", "in_order", "opened", "outcomes", "require_executor"]

Executors = Executor | Callable[[], Executor] | None
"""Argument `executor` of public functions."""

ATTEMPTS = 3  # executions of a task whose worker disappears
BREAKS = 3  # of executors in a row, before the next one is examined
WINDOW = 64  # tasks submitted at the same time, at least
LARGE = 1 << 16  # bytes of common data above which tasks carry their hash only
KEPT = 2  # common data that a worker keeps


class Outcome(NamedTuple):
    """Result of the task at a place, or the error that it raised."""

    place: int
    value: Any
    error: Exception | None


class _Traceback(Exception):
    """Traceback of another process, shown as the cause of an error."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class _Answer(NamedTuple):
    """Answer of a worker; `missing`: it lacks the common data, and did nothing."""

    worker: str
    thread: int
    missing: bool = False
    value: Any = None
    error: Exception | None = None
    trace: str = ""  # of an error of another process


def _nothing() -> None:
    """Empty task, which shows that an executor works."""


def _executed(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """Return the value of a call, or its error; ``sys.exit`` in a task is one, too."""
    try:
        return call(), None
    except SystemExit as end:
        failure = RuntimeError(
            f"the function called sys.exit({end.code!r}): it must raise an error instead"
        )
        failure.__cause__ = end
        return None, failure
    except Exception as error:
        return None, error


def _dumps(value: object) -> bytes:
    """Return pickled data; functions of the prompt and lambdas too if cloudpickle is installed."""
    dumps: Callable[[object], bytes] = pickle.dumps
    with contextlib.suppress(ImportError):
        dumps = importlib.import_module("cloudpickle").dumps
    return dumps(value)


# ---- on the worker ---------------------------------------------------------------------

_MODULE = uuid.uuid4().hex  # a forked process has the same, but another process id
_common: OrderedDict[str, Any] = OrderedDict()  # unpickled data by hash
_common_lock = threading.Lock()


def _worker_name() -> str:
    return f"{socket.gethostname()} {os.getpid()} {_MODULE}"


def _loads(data: bytes) -> Any:
    """Return unpickled data of the caller, whose models warned there."""
    with silenced():
        return pickle.loads(data)


def _unpickled(key: str, data: bytes | None) -> Any:
    """Return the common data; KeyError if it is neither known nor sent."""
    with _common_lock:
        if key not in _common:
            if data is None:
                raise KeyError(key)
            _common[key] = _loads(data)
            while len(_common) > KEPT:
                _common.popitem(last=False)
        _common.move_to_end(key)
        return _common[key]


def _portable(error: Exception) -> Exception:
    """Return the error, or one of the same text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _work(key: str, data: bytes | None, task: bytes, caller: str, attempt: str) -> _Answer:
    """Execute one task in a worker process; `attempt` makes each call distinct for a cluster."""
    name, thread = _worker_name(), threading.get_ident()
    if name != caller:
        become_worker()
    try:
        function, common = _unpickled(key, data)
    except KeyError:
        return _Answer(name, thread, missing=True)
    except (Exception, SystemExit) as error:
        reason = InputTypeError(
            f"the function cannot be loaded by a worker ({type(error).__name__}: {error}): define "
            "it in a module that the workers can import, or install the package cloudpickle"
        )
        return _Answer(name, thread, error=reason, trace=traceback.format_exc())
    value, failure = _executed(lambda: function(common, _loads(task)))
    if failure is not None:
        trace = "".join(traceback.format_exception(failure))
        return _Answer(name, thread, error=_portable(failure), trace=trace)
    try:
        # pickled here: clusters may wait for ever for results that they cannot pickle
        return _Answer(name, thread, value=_dumps(value))
    except Exception as error:
        reason = InputTypeError(
            f"the result cannot be sent back by executor ({type(error).__name__}: {error}): return "
            "numbers, arrays and other data that pickle accepts"
        )
        return _Answer(name, thread, error=reason, trace=traceback.format_exc())


def _work_in_thread(function: Callable[[Any, Any], Any], common: object, task: Any) -> _Answer:
    """Execute one task in a thread of the caller."""
    value, error = _executed(lambda: function(common, task))
    return _Answer("", threading.get_ident(), value=value, error=error)


# ---- on the caller's side ------------------------------------------------------------------


def require_executor(executor: object) -> Executors:
    """Return the argument `executor` of a public function; refuse other types."""
    if executor is None or isinstance(executor, Executor) or callable(executor):
        return executor
    hint = ""
    if hasattr(executor, "get_executor"):
        hint = "; of a Dask client pass client.get_executor()"
    elif isinstance(executor, int):
        hint = "; for that many processes pass ProcessPoolExecutor(...)"
    raise InputTypeError(
        "executor must be a concurrent.futures.Executor, a callable that returns one, or None, got "
        f"{type(executor).__name__}{hint}"
    )


def _pickled(value: object) -> bytes:
    """Return pickled data for workers."""
    try:
        return _dumps(value)
    except Exception as error:
        raise InputTypeError(
            f"the function, or data that it needs, cannot be sent to other processes by executor "
            f"({type(error).__name__}: {error}): use a function of a module and plain data, or "
            "ThreadPoolExecutor"
        ) from error


class Pool:
    """The caller's executor, or one made by the caller's function and made anew if it breaks."""

    def __init__(self, executor: Executor | Callable[[], Executor]) -> None:
        self._make = None if isinstance(executor, Executor) else executor
        self.executor = executor if isinstance(executor, Executor) else self._made()

    def _made(self) -> Executor:
        assert self._make is not None
        made = self._make()
        if not isinstance(made, Executor):
            raise InputTypeError(
                "executor must be a concurrent.futures.Executor or a callable that returns one, "
                f"got a callable that returned {type(made).__name__}"
            )
        return made

    def renew(self) -> bool:
        """Replace a broken executor; False if it is the caller's."""
        if self._make is None:
            return False
        self.close(wait=False)
        made = self._made()
        if made is self.executor:
            raise InputError(
                "executor must make a new one at each call, got the same one again after it "
                "broke: pass functools.partial(ProcessPoolExecutor, n), or the executor itself"
            )
        self.executor = made
        return True

    def fails(self) -> BaseException | None:
        """Return the error of an executor that cannot even execute an empty task."""
        try:
            return _error_of(self.executor.submit(_nothing))
        except BrokenExecutor as error:
            return error

    def close(self, wait: bool) -> None:
        """Shut the executor down unless it is the caller's."""
        if self._make is not None:
            # pending tasks were cancelled before; executors of Dask have no cancel_futures
            self.executor.shutdown(wait=wait)


def _without_advice(executor: Executor) -> contextlib.AbstractContextManager[Any]:
    """Silence Dask's warning of the size of data, which is sent about once to each worker."""
    # by its settings: filters of warnings are those of all threads
    if type(executor).__module__.partition(".")[0] != "distributed":
        return contextlib.nullcontext()
    settings = importlib.import_module("dask").config
    quiet: contextlib.AbstractContextManager[Any]
    quiet = settings.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})
    return quiet


class _Submitted(NamedTuple):
    place: int
    carries: bool  # sent with the common data
    alone: bool  # while no other task was submitted


class _Distribution:
    """The tasks of one call: waiting, submitted, and those whose worker was lost."""

    def __init__(
        self, pool: Pool, function: Callable[[Any, Any], Any], tasks: Sequence[Any], common: object
    ) -> None:
        self._pool, self._function, self._tasks, self._common = pool, function, tasks, common
        self._local = isinstance(pool.executor, ThreadPoolExecutor)
        self._waiting = deque(range(len(tasks)))
        self._suspects: deque[int] = deque()  # lost twice: each runs alone
        self._held: deque[int] = deque()  # wait for common data on its way to their worker
        self._submitted: dict[Future[Any], _Submitted] = {}
        self._most = max(WINDOW, 4 * processors())  # submitted at the same time
        self._threads: set[tuple[str, int]] = set()  # of workers, which have answered
        self._losses = [0] * len(tasks)
        self._cautious = False
        self._breaks = 0  # of executors since the last answer of a worker
        self._lacking: set[str] = set()  # workers without the common data
        self._call = uuid.uuid4().hex
        if not self._local:
            self._data = _pickled((function, common))
            self._key = hashlib.sha256(self._data).hexdigest()

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of every task, as they complete."""
        try:
            while self._waiting or self._suspects or self._held or self._submitted:
                with _without_advice(self._pool.executor):
                    broken = self._submit_all()
                done = wait(self._submitted, return_when=FIRST_COMPLETED).done
                errors = [broken, *map(_error_of, done)]
                broken = next((one for one in errors if isinstance(one, BrokenExecutor)), None)
                if broken is not None:
                    # it fails all of its tasks
                    done = wait(self._submitted).done
                lost = []
                for future in done:
                    task = self._submitted.pop(future)
                    error = _error_of(future)
                    if error is not None and _lost(error):
                        lost.append((task, error))
                    elif (found := self._outcome(task.place, future, error)) is not None:
                        yield found
                if broken is not None:
                    yield from self._after_break([task for task, _ in lost], broken)
                else:
                    for task, error in lost:
                        yield from self._after_loss(task.place, error)
        finally:
            for future in self._submitted:
                future.cancel()

    def _submit_all(self) -> BaseException | None:
        """Submit the tasks that may run now; return the error of a broken executor."""
        try:
            while self._held and self._carried() < max(len(self._lacking), 1):
                self._submit(self._held, carry=True)
            if self._suspects:
                if not self._submitted:
                    self._submit(self._suspects, carry=True, alone=True)
                return None
            while self._waiting and len(self._submitted) < self._most:
                self._submit(self._waiting, carry=False)
        except BrokenExecutor as error:
            return error
        except RuntimeError as error:
            if "shutdown" not in str(error):
                raise
            raise InputError(f"executor is shut down: {error}") from None
        return None

    def _carried(self) -> int:
        return sum(task.carries for task in self._submitted.values())

    def _submit(self, queue: deque[int], carry: bool, alone: bool = False) -> None:
        index, submit = queue[0], self._pool.executor.submit
        if self._local:
            future = submit(_work_in_thread, self._function, self._common, self._tasks[index])
        else:
            data = self._data if carry or len(self._data) <= LARGE else None
            name, call = _worker_name(), f"{self._call} {index} {self._losses[index]} {carry}"
            future = submit(_work, self._key, data, _pickled(self._tasks[index]), name, call)
        queue.popleft()
        self._submitted[future] = _Submitted(index, carry, alone)

    def _outcome(
        self, index: int, future: Future[Any], error: BaseException | None
    ) -> Outcome | None:
        """Return the outcome of a task that was not lost; None if its worker lacked data."""
        if isinstance(error, Exception):
            return Outcome(index, None, error)
        if error is not None:
            raise error  # KeyboardInterrupt
        answer: _Answer = future.result()
        self._breaks = 0
        self._threads.add((answer.worker, answer.thread))
        if not self._cautious:
            self._most = max(self._most, 4 * len(self._threads))
        if answer.missing:
            self._lacking.add(answer.worker)
            self._held.append(index)
            return None
        self._lacking.discard(answer.worker)
        # the others may now find the data
        self._waiting.extendleft(reversed(self._held))
        self._held.clear()
        if answer.error is not None:
            if answer.trace:
                answer.error.__cause__ = _Traceback(answer.trace)
            return Outcome(index, None, answer.error)
        value = answer.value if self._local else pickle.loads(answer.value)
        return Outcome(index, value, None)

    def _after_break(self, lost: list[_Submitted], error: BaseException) -> Iterator[Outcome]:
        """Repeat lost tasks on a new executor; one that broke an executor alone has failed."""
        self._lacking.clear()
        self._breaks += 1
        if not self._pool.renew():
            yield from self._given_up(lost, _BROKEN, error)
            return
        # tasks that kill their worker may follow each other: an empty one decides
        if self._breaks >= BREAKS:
            self._breaks = 0
            failure = self._pool.fails()
            if failure is not None:
                yield from self._given_up(lost, _FAILS, failure)
                return
        for task in sorted(lost, reverse=True):
            self._losses[task.place] += 1
            if task.alone:
                yield Outcome(task.place, None, _worker_error(_DIED, error))
            elif self._losses[task.place] == 1:
                self._waiting.appendleft(task.place)
            else:
                self._suspects.appendleft(task.place)
        # with few at a time, few are in doubt after the next break
        self._cautious, self._most = True, processors()

    def _after_loss(self, index: int, error: BaseException) -> Iterator[Outcome]:
        """Repeat a task that a cluster lost, unless it has given the task up."""
        self._losses[index] += 1
        if isinstance(error, CancelledError) and self._losses[index] < ATTEMPTS:
            self._waiting.appendleft(index)
            return
        yield Outcome(index, None, _worker_error(_DIED, error))

    def _given_up(
        self, lost: list[_Submitted], message: str, error: BaseException
    ) -> Iterator[Outcome]:
        """Yield failures of all tasks that are left."""
        rest = [*(task.place for task in lost), *self._held, *self._suspects, *self._waiting]
        for queue in (self._held, self._suspects, self._waiting):
            queue.clear()
        for index in sorted(rest):
            yield Outcome(index, None, _worker_error(message, error))


_DIED = (
    "its worker process died each time (it may have run out of memory: give each worker more, or "
    "use fewer workers)"
)
_BROKEN = (
    "not executed: a worker process died (it may have run out of memory, or a script that starts "
    'processes may lack `if __name__ == "__main__":`), and executor is broken since; '
    "pass a callable that makes an executor, such as functools.partial("
    "ProcessPoolExecutor, 4), and it is made anew"
)
_FAILS = (
    f"not executed: {BREAKS} executors in a row broke before they completed a task, and the next "
    "does not even execute an empty one (its initializer may fail, or a script that starts "
    'processes may lack `if __name__ == "__main__":`)'
)


def _worker_error(message: str, cause: BaseException) -> WorkerError:
    error = WorkerError(message)
    error.__cause__ = cause
    return error


def _error_of(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError as error:
        return error


def _lost(error: BaseException) -> bool:
    """Return True if the worker of a task was lost, rather than the task failing."""
    # KilledWorker by name: the package distributed is optional
    return (
        isinstance(error, BrokenExecutor | CancelledError) or type(error).__name__ == "KilledWorker"
    )


@contextlib.contextmanager
def opened(executor: Executors) -> Iterator[Pool | None]:
    """Yield what several calls of `outcomes` use as their executor; it is closed at the end."""
    if executor is None:
        yield None
        return
    pool = Pool(executor)
    complete = False
    try:
        yield pool
        complete = True
    finally:
        pool.close(wait=complete)


def outcomes(
    executor: Executors | Pool,
    function: Callable[[Any, Any], Any],
    tasks: Sequence[Any],
    common: object = None,
) -> Generator[Outcome, None, None]:
    """Yield the outcome of ``function(common, task)`` of every task, as they complete.

    Parameters
    ----------
    executor
        Executor, or a callable that makes one: then it is closed at the end, and made anew if a
        worker process dies. None: tasks are executed here, in order. A pool of `opened` stays open.
    function
        Function of a module.
    tasks
        Data of each task.
    common
        Data of all tasks.
    """
    if executor is None:
        for index, task in enumerate(tasks):
            yield Outcome(index, *_executed(functools.partial(function, common, task)))
        return
    if isinstance(executor, Pool):
        yield from _Distribution(executor, function, tasks, common).outcomes()
        return
    with opened(executor) as pool:
        assert pool is not None
        yield from _Distribution(pool, function, tasks, common).outcomes()


def in_order(found: Generator[Outcome, None, None]) -> Iterator[Any]:
    """Yield the values of tasks in their order; raise the first error."""
    early: dict[int, Any] = {}
    due = 0
    with contextlib.closing(found):
        for index, value, error in found:
            if error is not None:
                raise error
            early[index] = value
            while due in early:
                yield early.pop(due)
                due += 1
