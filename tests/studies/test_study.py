"""Parameter studies: points, failures, workers that die, files."""

from __future__ import annotations

import functools
import json
import pickle
import re
import subprocess
import sys
import threading
import traceback
import types
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np
import pytest

import reducedfem as rf
import study_functions as work
from clusters import CONTEXT, SPAWN
from reducedfem.io.study_files import StudyFile

pytestmark = pytest.mark.no_asan(reason="runs no C code")
GRID = {"a": [1, 2, 3], "b": np.array([0.5, 0.25])}


def test_points_are_in_the_order_of_the_grid(executor):
    found = rf.study(work.together, GRID, executor=executor)
    assert found.values == rf.study(work.together, GRID).values
    assert [tuple(point.values()) for point in found.points] == [
        (a, b) for a in (1, 2, 3) for b in (0.5, 0.25)
    ]
    assert found.shape == (3, 2)
    np.testing.assert_array_equal(
        found["sum"].reshape(found.shape), np.add.outer([1, 2, 3], [0.5, 0.25])
    )


def test_results_are_columns():
    found = rf.study(work.together, [{"a": 1, "b": 2}, {"b": 4, "a": 3}])
    assert list(found.to_dict()) == ["a", "b", "sum", "third"]
    table = found.to_array()
    assert table.dtype.names == ("a", "b", "sum", "third")
    assert table["sum"].tolist() == [3, 7]
    assert len(found) == 2
    assert [value["sum"] for _, value in found] == [3, 7]
    again = pickle.loads(pickle.dumps(found))
    assert (again.points, again.values, again.shape) == (found.points, found.values, (2,))
    with pytest.raises(rf.InputError, match="name must be a column"):
        found["weight"]


def test_arrays_are_stacked_and_names_stay_distinct():
    found = rf.study(lambda a: {"a": np.full(2, a), "text": str(a)}, {"a": [1, 2]})
    np.testing.assert_array_equal(found["a_result"], [[1, 1], [2, 2]])
    assert found["text"].tolist() == ["1", "2"]


def test_notebooks_show_a_table():
    found = rf.study(work.fails_at_two, {"a": range(40)}, errors="keep")
    html = found._repr_html_()
    assert repr(found) == "<Study: 40 points of a, 1 failed>"
    assert "ValueError: two is too many" in html
    assert html.count("<tr>") == 1 + 20 + 1  # head, rows, dots


def test_a_failed_point_is_named_and_the_others_are_kept(executor):
    kept = rf.study(work.fails_at_two, {"a": range(5)}, executor=executor, errors="keep")
    assert list(kept.errors) == [2]
    assert isinstance(kept.errors[2], ValueError)
    np.testing.assert_array_equal(kept["value"], [0, 1, np.nan, 3, 4])
    with pytest.raises(rf.StudyError, match=r"point 2 \(a=2\) failed: ValueError: two") as caught:
        rf.study(work.fails_at_two, {"a": range(5)}, executor=executor)
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.study.errors.keys() == {2}
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), rf.StudyError)


def test_errors_of_workers_bring_their_traceback(spawned):
    found = rf.study(work.fails_at_two, {"a": [2]}, executor=spawned, errors="keep")
    assert "fails_at_two" in str(found.errors[0].__cause__)
    odd = rf.study(work.fails_oddly, {"a": [1]}, executor=spawned, errors="keep")
    assert str(odd.errors[0]) == "Odd: no 1"


@pytest.mark.parametrize("kind", [None, "threaded", "spawned", "dask"])
def test_a_point_that_exits_or_breaks_its_own_pool_has_failed(kind, request):
    executor = None if kind is None else request.getfixturevalue(kind)
    grid = {"a": range(4)}
    exited = rf.study(work.exits_at_two, grid, executor=executor, errors="keep")
    assert exited.values == (0, 1, None, 3)
    assert re.match(r"the function called sys\.exit\(3\): it must raise", str(exited.errors[2]))
    broke = rf.study(work.breaks_at_two, grid, executor=executor, errors="keep")
    assert broke.values == (0, 1, None, 3)
    assert isinstance(broke.errors[2], BrokenProcessPool)
    for found in (exited, broke):  # with the line that failed
        assert "_at_two" in "".join(traceback.format_exception(found.errors[2]))


@pytest.mark.parametrize("kind", ["spawned", "dask"])
def test_a_worker_that_dies_loses_no_point(kind, request, tmp_path):
    executor = SPAWN if kind == "spawned" else request.getfixturevalue("dask")
    marker = tmp_path / "died"
    grid = {"a": range(12), "marker": [str(marker)]}
    found = rf.study(work.kills_once, grid, executor=executor)
    assert marker.exists()
    assert found.values == tuple(range(12))


def test_a_point_that_kills_each_worker_is_named():
    found = rf.study(work.kills_always, {"a": [1, 3, 5]}, executor=SPAWN, errors="keep")
    assert list(found.errors) == [1], dict(found.errors)
    assert isinstance(found.errors[1], rf.WorkerError)
    assert found.values == (1, None, 5)


def test_a_broken_executor_of_the_caller_keeps_results(tmp_path):
    path = tmp_path / "study.json"
    with ProcessPoolExecutor(1, mp_context=CONTEXT) as executor:
        found = rf.study(
            work.kills_always, {"a": [3, 4]}, executor=executor, errors="keep", path=path
        )
        assert found.errors.keys() == {0, 1}
        assert "callable that makes an executor" in str(found.errors[0])
        with pytest.raises(rf.StudyError, match="a worker process died"):
            rf.study(work.kills_always, {"a": [1]}, executor=executor)


def test_an_executor_that_is_shut_down_is_refused():
    with ThreadPoolExecutor(1) as executor:
        pass
    with pytest.raises(rf.InputError, match="executor is shut down"):
        rf.study(work.together, GRID, executor=executor)


def test_an_interruption_cancels_pending_points():
    executed, release = [], threading.Event()

    def point(a):
        executed.append(a)
        if a > 0:
            release.wait(60)

    def interrupt(done, total):
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(KeyboardInterrupt):
            rf.study(point, {"a": range(100)}, executor=executor, progress=interrupt)
        release.set()
    assert executed in ([0], [0, 1])


def test_workers_use_one_thread_unless_it_was_set(spawned):
    assert rf.study(work.setting_of_threads, {"a": [1]}, executor=spawned).values == (1,)
    with ProcessPoolExecutor(1, CONTEXT, rf.set_threads, (3,)) as pool:
        assert rf.study(work.setting_of_threads, {"a": [1]}, executor=pool).values == (3,)


FORKED = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import reducedfem as rf
import study_functions as work

rf.set_threads(3)
fork = multiprocessing.get_context("fork")
for options in ({}, {"initializer": rf.set_threads, "initargs": (2,)}):
    with ProcessPoolExecutor(1, fork, **options) as pool:
        print(*rf.study(work.setting_of_threads, {"a": [1]}, executor=pool).values)
"""


def test_forked_workers_do_not_inherit_the_number_of_threads():
    # in a fresh process: threads of this one may hold locks that a forked child waits for
    found = subprocess.run(
        [sys.executable, "-c", FORKED],
        cwd=Path(work.__file__).parent,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["1", "2"]


def test_data_that_cannot_travel_is_named(spawned, dask):
    lock = threading.Lock()
    with pytest.raises(rf.InputTypeError, match="cannot be sent to other processes"):
        rf.study(lambda a: lock, {"a": [1]}, executor=spawned)
    for executor in (spawned, dask):
        with pytest.raises(rf.StudyError, match="cannot be sent back by executor"):
            rf.study(work.returns_a_lock, {"a": [1]}, executor=executor)


def test_a_study_is_resumed_from_its_file(tmp_path):
    path, calls = tmp_path / "study.json", work.CALLS
    calls.clear()
    with pytest.raises(rf.StudyError, match="out of luck"):
        rf.study(work.recorded, {"a": range(4)}, path=path)
    found = rf.study(work.recorded, {"a": range(5)}, path=path)
    assert calls == [0, 1, 2, 2, 3, 4]
    calls.clear()
    again = rf.study(work.recorded, {"a": [4, 1]}, path=tmp_path / "study")
    assert calls == []
    for new, old in zip(again.values, (found.values[4], found.values[1]), strict=True):
        assert (new["x"], new["z"]) == (old["x"], old["z"])
        np.testing.assert_array_equal(new["y"], old["y"])
    with pytest.raises(rf.InputError, match="path is .* a study of the function"):
        rf.study(work.together, GRID, path=path)
    with pytest.raises(rf.InputError, match="path: the value of point 0 contains a lock"):
        rf.study(work.returns_a_lock, {"a": [1]}, path=tmp_path / "lock.json")


def test_a_file_is_of_one_function_with_its_data(tmp_path):
    path = tmp_path / "study.json"

    def bound(model, factors):
        return functools.partial(
            functools.partial(work.scaled, factors=np.array(factors)), model=model
        )

    first = rf.study(bound(2.0, [1.0]), {"a": [1.0]}, path=path)
    assert rf.study(bound(2.0, [1.0]), {"a": [1.0]}, path=path).values == first.values == (2.0,)
    for other in (bound(100.0, [1.0]), bound(2.0, [3.0])):
        with pytest.raises(rf.InputError, match=r"study_functions.scaled' bound to \[.*, not to"):
            rf.study(other, {"a": [1.0]}, path=path)
    with pytest.raises(rf.InputError, match="not to nothing; name another file"):
        rf.study(work.scaled, {"a": [1.0], "model": [2.0]}, path=path)

    # the same name in another module
    scaled = types.FunctionType(work.setting_of_threads.__code__, {"__name__": "other"}, "scaled")
    with pytest.raises(rf.InputError, match="study of the function 'study_functions.scaled'"):
        rf.study(scaled, {"a": [1.0]}, path=path)


def test_functions_that_files_cannot_compare_are_refused(tmp_path):
    path, model = tmp_path / "study.json", work.Model()

    def local(a):
        return model

    for function, message in (
        (lambda a: a, "the function is a lambda, which the file cannot compare: define it by def"),
        (functools.partial(work.scaled, model=model), "is bound to a Model, which"),
        (functools.partial(work.scaled, model=[1.0, {"x": model}]), "is bound to a Model, which"),
        (functools.partial(work.scaled, model=np.ones(1, complex)), "bound to an array of compl"),
        (functools.partial(model.frequency), "is bound to a Model, which"),
        (functools.partial(functools.partial(model.frequency), 3), "is bound to a Model, which"),
        (local, r"local' uses variables of the function around it \(model\), which"),
    ):
        grid = [{}] if isinstance(function, functools.partial) and function.args else {"a": [1]}
        with pytest.raises(rf.InputError, match=message):
            rf.study(function, grid, path=path)
    assert not path.exists()


def test_writing_takes_a_small_part_of_the_time(tmp_path):
    now = 0.0

    def clock():
        """Each reading is 3 s after the last, so that a write takes 3 s."""
        nonlocal now
        now += 3.0
        return now

    file = StudyFile(tmp_path / "study.json", work.together, clock)
    written = []
    for place in range(40):
        file.add(place, {"a": place}, 1.0)
        file.write_if_due()
        written.append(len(StudyFile(file.path, work.together).known([{"a": place}])) == 1)
    # after 3 s of writing, a pause of 30 s: 10 points at 3 s each
    assert [place for place, one in enumerate(written) if one] == [0, 10, 20, 30]
    file.write()
    before = file.path.stat().st_ino, file.path.stat().st_mtime_ns
    file.write()
    assert (file.path.stat().st_ino, file.path.stat().st_mtime_ns) == before
    file.add(40, {"a": 40}, 1.0)
    file.write()
    assert len(StudyFile(file.path, work.together).known([{"a": 40}])) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("long array", "contains an array of float"),
        ("long number", "contains a longdouble; files"),
        ("complex array", "contains an array of complex128"),
        ("array key", "has the key '__array__', which files"),
        ("tuple key", "has the key '__tuple__', which files"),
        ("number as key", "contains a dict; files"),
    ],
)
def test_values_that_files_cannot_store_are_refused_and_others_kept(tmp_path, name, message):
    path, grid = tmp_path / "study.json", {"a": [0, 1], "name": [name]}
    with pytest.raises(rf.InputError, match=f"path: the value of point 1 {message}"):
        rf.study(work.odd_value, grid, path=path)
    with pytest.raises(rf.InputError, match=f"path: the value of point 1 {message}"):
        rf.study(work.odd_value, grid, path=path)
    assert json.loads(path.read_text())["results"] == [[{"a": 0, "name": name}, 0.5]]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": "x"}', '{"format": "reducedfem study", "version": 2}']
)
def test_other_files_are_refused_and_kept(tmp_path, text):
    path = tmp_path / "study.json"
    path.write_text(text)
    with pytest.raises(rf.FileFormatError, match="not a file of a study"):
        rf.study(work.together, GRID, path=path)
    assert path.read_text() == text
    with pytest.raises(rf.FileFormatError, match="format is"):
        rf.study(work.together, GRID, path=tmp_path / "study.npz")


def test_files_are_plain(tmp_path):
    rf.study(work.fails_at_two, {"a": [1]}, path=tmp_path / "s.json")
    stored = json.loads((tmp_path / "s.json").read_text())
    assert stored["results"] == [[{"a": 1}, 1.0]]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({}, "grid is empty"),
        ([], "grid is empty"),
        ({"a": 1.0}, r"grid\['a'\] must be a sequence of values, got float; put"),
        ({"a": []}, "has no values"),
        ({1: [2]}, "names of parameters are texts"),
        ([1], r"grid\[0\] must be a dict"),
        ({"a": [1], "c": [2]}, "function does not accept the parameters of point 0"),
        ([{"a": 1}], "missing a required argument: 'b'"),
    ],
)
def test_wrong_grids_are_refused(grid, message):
    with pytest.raises((rf.InputError, rf.InputTypeError), match=message):
        rf.study(work.together, grid)


def test_other_executors_are_refused():
    class Client:
        def get_executor(self):
            return None

    for executor, message in (
        (Client(), r"pass client\.get_executor\(\)"),
        (4, "for that many processes"),
        (lambda: 3, "a callable that returned int"),
    ):
        with pytest.raises(rf.InputTypeError, match=f"executor must be .*{message}"):
            rf.study(work.together, GRID, executor=executor)
