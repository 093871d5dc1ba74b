"""Work for executors: the same bits as here, with workers that die and data that is large."""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
import warnings
from collections.abc import Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)

import numpy as np
import pytest

import reducedfem as rf
import study_functions as work
from clusters import CONTEXT, SPAWN
from reducedfem import _core
from reducedfem.base.executors import BREAKS, LARGE, WINDOW, in_order, outcomes
from reducedfem.base.run import processors
from shapes import box_hexes, solid_box, sphere

# workers run the same blocks of C as the tests of bases, polynomials and fields
pytestmark = pytest.mark.no_asan(
    reason="the C code of workers is run in test_blocks.py and sdf/test_field_blocks.py, too"
)


@pytest.fixture(scope="module")
def solid():
    return solid_box((14, 7, 6), (0.2, 0.1, 0.1), rf.StVK(1e6, 0.3, 1000.0))


def test_precomputation_has_the_same_bits(executor, solid):
    modes = solid.linear_modes(8)
    basis = rf.modal_derivative_basis(solid, 8, 10)
    assert _core.polynomial_blocks(solid._core) > 1
    assert len(basis.spectrum) > _core.DERIVATIVES_BLOCK
    counts = []
    found = rf.modal_derivative_basis(
        solid, 8, 10, executor=executor, progress=lambda done, total: counts.append((done, total))
    )
    assert counts == [(32, 36), (36, 36)]
    np.testing.assert_array_equal(found.vectors, basis.vectors)
    np.testing.assert_array_equal(found.spectrum, basis.spectrum)
    assert found.provenance == basis.provenance
    np.testing.assert_array_equal(
        solid.modal_derivatives(modes, executor=executor), solid.modal_derivatives(modes)
    )
    model, here = rf.reduce(solid, basis, executor=executor), rf.reduce(solid, basis)
    np.testing.assert_array_equal(model._core.coefficients, here._core.coefficients)
    np.testing.assert_array_equal(model.mass, here.mass)


def test_work_that_needs_the_whole_solid_is_refused(threaded, solid):
    free = rf.Solid(solid.mesh, solid.material)
    basis, modes = rf.modal_derivative_basis(solid, 2, 3), free.linear_modes(2)
    for call, message in (
        (lambda: rf.modal_derivative_basis(free, 2, executor=threaded), "fixed nodes only"),
        (lambda: free.modal_derivatives(modes, executor=threaded), "fixed nodes only"),
        (
            lambda: rf.reduce(solid, basis, editable=True, executor=threaded),
            "leave out executor, or editable",
        ),
        (
            lambda: rf.reduce(solid, basis, cubature=20, executor=threaded),
            "leave out executor, or cubature",
        ),
    ):
        with pytest.raises(rf.InputError, match=message):
            call()


@pytest.fixture(scope="module")
def surface():
    """Two spheres that overlap, one with a hole: distances from walls, then from a cap."""
    vertices, triangles = sphere(12)
    open_one = triangles[vertices[triangles].mean(axis=1)[:, 2] < 0.95]
    return rf.Surface(
        np.concatenate([vertices, vertices + np.array([0.8, 0.1, -0.3])]),
        np.concatenate([open_one, triangles + len(vertices)]),
    )


def assert_same_field(found, here):
    np.testing.assert_array_equal(found.values.view(np.int32), here.values.view(np.int32))
    assert found.provenance == here.provenance


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_fields_have_the_same_bits(executor, surface, mode):
    done = []
    found = rf.DistanceField.from_surface(
        surface, 32, mode=mode, executor=executor, progress=lambda at, total: done.append(at)
    )
    assert done[-1] == 100
    assert done == sorted(done)
    here = rf.DistanceField.from_surface(surface, 32, mode=mode)
    assert here.provenance["cap_triangles"] > 0
    assert_same_field(found, here)


class Killed(Executor):
    """One process, which dies behind the third block of a field."""

    def __init__(self):
        self.pool, self.blocks = ProcessPoolExecutor(1, mp_context=CONTEXT), 0

    def submit(self, function, *given):
        future = self.pool.submit(function, *given)
        self.blocks += 1
        if self.blocks == 3:
            self.pool.submit(os._exit, 1)
        return future

    def shutdown(self, wait=True):
        self.pool.shutdown(wait=wait)


def test_fields_survive_workers_that_die(surface):
    made = []

    def make():
        made.append(ThreadPoolExecutor(1) if made else Killed())
        return made[-1]

    found = rf.DistanceField.from_surface(surface, 32, executor=make)
    assert len(made) == 2
    assert_same_field(found, rf.DistanceField.from_surface(surface, 32))


class Failing(Executor):
    """Executes two tasks, here, and fails at the third; later ones stay pending."""

    def __init__(self):
        self.futures = []

    def submit(self, function, *given):
        self.futures.append(Future())
        if len(self.futures) < 3:
            self.futures[-1].set_result(function(*given))
        elif len(self.futures) == 3:
            self.futures[-1].set_exception(ValueError("out of luck"))
        return self.futures[-1]


def test_a_field_that_fails_cancels_its_blocks(surface):
    executor = Failing()
    with pytest.raises(ValueError, match="out of luck"):
        rf.DistanceField.from_surface(surface, 32, executor=executor)
    assert len(executor.futures) == 9
    assert all(one.cancelled() for one in executor.futures[3:])


class Router(Executor):
    """Sends even tasks to one worker and odd ones to the other; records what carries large data."""

    def __init__(self, workers):
        self.workers, self.carried = workers, []

    def submit(self, function, *given):
        sizes = [len(one) for one in given if isinstance(one, bytes)]
        self.carried.append(max(sizes) > LARGE)
        task = pickle.loads(min((one for one in given if isinstance(one, bytes)), key=len))
        return self.workers[task % 2].submit(function, *given)


def test_large_data_reaches_each_worker_and_workers_keep_it(two_workers):
    common = bytes(2 * LARGE)
    first, then = Router(two_workers), Router(two_workers)
    found = list(in_order(outcomes(first, work.length, list(range(40)), common)))
    assert [length for _, length in found] == [len(common) + task for task in range(40)]
    processes = {process for process, _ in found}
    assert len(processes) == 2
    assert os.getpid() not in processes
    assert sum(first.carried) >= 2
    assert not all(first.carried)
    # known by now: no message carries the data
    again = list(in_order(outcomes(then, work.length, [1, 2], common)))
    assert {process for process, _ in again} == processes
    assert then.carried == [False, False]


class Inline(Executor):
    """Executes tasks at once, here, as a worker would; the task "kill" breaks it."""

    def __init__(self):
        self.broken = False

    def submit(self, function, *given):
        if self.broken:
            raise BrokenExecutor("broken")
        future = Future()
        if any(isinstance(one, bytes) and pickle.loads(one) == "kill" for one in given):
            self.broken = True
            future.set_exception(BrokenExecutor("killed"))
        else:
            future.set_result(function(*given))
        return future


class Stepped(Executor):
    """Executes its oldest task, as a worker would, when it has got `patience` of them."""

    def __init__(self, patience):
        self.patience, self.waiting = patience, []

    def submit(self, function, *given):
        future = Future()
        self.waiting.append((future, function, given))
        if len(self.waiting) == self.patience:
            future_done, call, data = self.waiting.pop(0)
            future_done.set_result(call(*data))
        return future


class Asked(Sequence):
    """Tasks that remember how many of them were asked for."""

    def __init__(self):
        self.most = 0

    def __len__(self):
        return 100_000

    def __getitem__(self, place):
        self.most = max(self.most, place + 1)
        return place


def test_tasks_are_asked_for_when_they_are_due():
    window, tasks = max(WINDOW, 4 * processors()), Asked()
    found = outcomes(Stepped(window), work.returned, tasks)
    with contextlib.closing(found):
        for place in range(10):
            assert next(found) == (place, place, None)
            assert tasks.most == window + place


def test_many_workers_get_many_tasks():
    # each thread waits for all the others: all tasks must be submitted at the same time
    workers = 2 * max(WINDOW, 4 * processors())
    first, both = threading.Barrier(workers // 2), threading.Barrier(workers)

    def meet(common, task):
        (first if task < workers // 2 else both).wait(60)
        return task

    tasks = [*range(workers // 2), *range(workers, 2 * workers)]
    with ThreadPoolExecutor(workers) as executor:
        assert list(in_order(outcomes(executor, meet, tasks))) == tasks


def test_tasks_that_kill_their_workers_one_after_the_other_are_named():
    found = sorted(outcomes(Inline, work.returned, ["kill"] * 7 + ["ok"]))
    assert [one.place for one in found] == list(range(8))
    assert found[7].value == "ok"
    for _, _, error in found[:7]:
        assert isinstance(error, rf.WorkerError)
        assert "died each time" in str(error)
        assert str(error.__cause__) == "killed"


def test_executors_that_break_at_each_start_are_given_up():
    made = []

    def make():
        made.append(ThreadPoolExecutor(2, initializer=work.fails_at_two, initargs=(2,)))
        return made[-1]

    found = sorted(outcomes(make, work.returned, list(range(20))))
    assert len(made) <= BREAKS + 1
    assert [one.place for one in found] == list(range(20))
    for _, _, error in found:
        assert isinstance(error, rf.WorkerError)
        assert "its initializer may fail" in str(error)
        assert isinstance(error.__cause__, BrokenExecutor)


def test_a_callable_that_returns_the_same_executor_again_is_refused():
    pool = Inline()
    with pytest.raises(rf.InputError, match="executor must make a new one at each call, got the"):
        list(outcomes(lambda: pool, work.returned, ["kill", "ok"]))


def test_models_that_reach_workers_do_not_warn_again():
    nodes, elements = box_hexes(8, 8, 8, 0.1)
    with pytest.warns(rf.PlausibilityWarning, match="if it was meant in MPa"):
        soft = rf.Solid(rf.Mesh(nodes, elements), rf.StVK(50.0, 0.3, 1000.0))
    # warnings are errors here
    found = list(in_order(outcomes(Stepped(1), work.nodes_of, [soft, soft], soft)))
    assert found == [2 * len(nodes)] * 2


def test_unpickling_leaves_the_filters_of_other_threads_alone():
    common = work.FiltersWhenUnpickled()
    (found,) = in_order(outcomes(Stepped(1), work.first, [0], common))
    assert found == list(warnings.filters)


def test_settings_of_dask_are_those_before_the_first_of_two_threads():
    name = "distributed.admin.large-graph-warning-threshold"
    config = pytest.importorskip("dask").config
    before, seen = config.get(name, None), []

    class Between(Stepped):
        """Of Dask, by its module; submits after an event, when it has begun."""

        __module__ = "distributed.between"

        def __init__(self, until):
            super().__init__(1)
            self.begun, self.until = threading.Event(), until

        def submit(self, function, *given):
            self.begun.set()
            assert self.until.wait(60)
            seen.append(config.get(name))
            return super().submit(function, *given)

    second = Between(threading.Event())
    first = Between(second.begun)

    def run(executor):
        return list(in_order(outcomes(executor, work.returned, [1])))

    with ThreadPoolExecutor(2) as threads:
        ends = [threads.submit(run, first)]
        assert first.begun.wait(60)
        ends.append(threads.submit(run, second))
        try:
            assert ends[0].result(60) == [1]
        finally:
            second.until.set()
        assert ends[1].result(60) == [1]
    assert seen == ["1 TB", "1 TB"]
    assert config.get(name, None) == before


def test_an_executor_of_dask_made_by_a_callable(client):
    made = []

    def make():
        made.append(client.get_executor())
        return made[-1]

    assert list(in_order(outcomes(make, work.returned, [1, 2, 3]))) == [1, 2, 3]
    with pytest.raises(RuntimeError, match="after shutdown"):
        made[0].submit(int)
    # also after a failure, which does not wait
    with pytest.raises(ValueError, match="too many"):
        list(in_order(outcomes(make, work.fails_with, [1, 2, 3])))
    assert client.submit(int, "3").result() == 3


def test_large_data_reaches_new_workers(tmp_path):
    common = str(tmp_path / "died"), bytes(2 * LARGE)
    found = list(in_order(outcomes(SPAWN, work.kills_with, list(range(6)), common)))
    assert found == [2 * LARGE + task + 1 for task in range(6)]
    assert (tmp_path / "died").exists()
