"""Force sketches: loads recorded over time, as input of `sketch_basis`."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem import _core
from reducedfem.base.check import as_array, count, finite_result, integer, number, positive, reals
from reducedfem.base.frozen import frozen_array
from reducedfem.base.run import Progress, callback, threads
from reducedfem.errors import InputError, InputTypeError
from reducedfem.io import sketch_files
from reducedfem.io.atomic import as_path
from reducedfem.reduction.linear_model import LinearModel, sparse_force
from reducedfem.reduction.thinning import distance_apart

__all__ = ["ForceSketch", "Recording", "record"]


class ForceSketch:
    """Loads recorded over time; immutable (Barbic 2007, section 2.8.2).

    The load of sample i is the sum of forces at some nodes and of load patterns times coordinates:
    f_i = sum of forces + sum_j coordinates[i, j] patterns[j]. It is compact for forces at single
    nodes and for loads along modes.

    Parameters
    ----------
    n_nodes
        Number of nodes of the mesh on which the loads act.
    times
        Time of each sample [s], not descending, shape (m,).
    offsets
        First index of the forces of each sample in `nodes` and `forces`, shape (m + 1,), beginning
        with 0.
    nodes
        Indices of the nodes on which forces act, shape (f,).
    forces
        Forces on these nodes [N], shape (f, 3); forces on a node repeated in a sample are added.
    patterns
        Load patterns, shape (k, n_nodes, 3). None: no patterns.
    coordinates
        Coordinates of each sample, shape (m, k); pattern times coordinate is in N. None: no
        patterns.

    Raises
    ------
    InputError, InputTypeError
        Shapes do not match, a value is not finite, or a node index is out of range.
    """

    def __init__(
        self,
        n_nodes: int,
        times: ArrayLike,
        offsets: ArrayLike,
        nodes: ArrayLike,
        forces: ArrayLike,
        patterns: ArrayLike | None = None,
        coordinates: ArrayLike | None = None,
    ) -> None:
        self._n_nodes = count(n_nodes, "n_nodes", (2**31 - 1) // 3)
        self._times = frozen_array(times, "times")
        if self._times.ndim != 1:
            raise InputError(f"times must have shape (m,), got {self._times.shape}")
        if (np.diff(self._times) < 0.0).any():
            late = int(np.flatnonzero(np.diff(self._times) < 0.0)[0]) + 1
            before, after = self._times[late - 1 : late + 1]
            raise InputError(
                f"times[{late}] is {after:g} and times[{late - 1}] is {before:g}: times must not "
                "decrease"
            )
        m = len(self._times)
        self._offsets = _integers(offsets, "offsets", 2**31 - 1)
        self._nodes = _integers(nodes, "nodes", self._n_nodes - 1)
        self._forces = frozen_array(forces, "forces")
        if (
            self._offsets.shape != (m + 1,)
            or self._offsets[0] != 0
            or (np.diff(self._offsets) < 0).any()
            or self._offsets[-1] != len(self._nodes)
        ):
            raise InputError(
                f"offsets must have shape ({m + 1},) and go from 0 to {len(self._nodes)}, the "
                "number of nodes named, without descending"
            )
        if self._forces.shape != (len(self._nodes), 3):
            raise InputError(
                f"forces must have shape ({len(self._nodes)}, 3), got {self._forces.shape}"
            )
        none = np.zeros((0, self._n_nodes, 3))
        self._patterns = frozen_array(none if patterns is None else patterns, "patterns")
        if self._patterns.shape[1:] != (self._n_nodes, 3):
            raise InputError(
                f"patterns must have shape (k, {self._n_nodes}, 3), got {self._patterns.shape}"
            )
        k = len(self._patterns)
        still = np.zeros((m, k))
        self._coordinates = frozen_array(
            still if coordinates is None else coordinates, "coordinates"
        )
        if self._coordinates.shape != (m, k):
            raise InputError(
                f"coordinates must have shape ({m}, {k}), got {self._coordinates.shape}"
            )

    @staticmethod
    def from_forces(forces: ArrayLike, times: ArrayLike | None = None) -> ForceSketch:
        """Return a sketch of complete force fields; only nodes with a force are stored.

        Parameters
        ----------
        forces
            Loads [N], shape (m, n, 3).
        times
            Time of each load [s], shape (m,). None: 0, 1, 2, ...

        Returns
        -------
        ForceSketch

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape or a value that is not finite.
        """
        whole = reals(forces, "forces")
        if whole.ndim != 3 or whole.shape[2] != 3 or whole.shape[1] == 0:
            raise InputError(f"forces must have shape (m, n, 3), got {whole.shape}")
        sample, node = np.nonzero(whole.any(axis=2))
        offsets = np.searchsorted(sample, np.arange(len(whole) + 1))
        when = np.arange(float(len(whole))) if times is None else times
        return ForceSketch(whole.shape[1], when, offsets, node, whole[sample, node])

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the mesh."""
        return self._n_nodes

    @property
    def times(self) -> NDArray[np.float64]:
        """Time of each sample [s], read-only, shape (m,)."""
        return self._times

    @property
    def offsets(self) -> NDArray[np.int32]:
        """First index of the forces of each sample, read-only, shape (m + 1,)."""
        return self._offsets

    @property
    def nodes(self) -> NDArray[np.int32]:
        """Nodes on which forces act, read-only, shape (f,)."""
        return self._nodes

    @property
    def forces(self) -> NDArray[np.float64]:
        """Forces on `nodes` [N], read-only, shape (f, 3)."""
        return self._forces

    @property
    def patterns(self) -> NDArray[np.float64]:
        """Load patterns, read-only, shape (k, n, 3)."""
        return self._patterns

    @property
    def coordinates(self) -> NDArray[np.float64]:
        """Coordinates of each sample, read-only, shape (m, k)."""
        return self._coordinates

    @property
    def norms(self) -> NDArray[np.float64]:
        """Euclidean length of each load [N], shape (m,)."""
        points = self._finite(_core.dense_loads(self._loads(), self._n_nodes))
        largest = np.abs(points).max(axis=1, initial=0.0)
        unit = np.where(largest > 0.0, largest, 1.0)  # squares cannot overflow
        return self._finite(unit * np.linalg.norm(points / unit[:, None], axis=1))

    def _finite(self, result: NDArray[np.float64]) -> NDArray[np.float64]:
        return finite_result(result, "sum of a load", "forces")

    def force(self, i: int) -> NDArray[np.float64]:
        """Return the load of one sample.

        Parameters
        ----------
        i
            Index of the sample, 0 to m - 1.

        Returns
        -------
        (n, 3) float64 array
            Forces [N].

        Raises
        ------
        InputError, InputTypeError
            `i` is out of range or not an int.
        """
        which = integer(i, "i")
        if not len(self):
            raise InputError(
                f"i is {which}, but the sketch is empty: record forces first, or place some on the "
                "page of view(solid)"
            )
        if not 0 <= which < len(self):
            raise InputError(f"i is {which}; the sketch has samples 0 to {len(self) - 1}")
        one = self.select([which])
        # with the zero pattern the core returns all nodes
        loads = (
            one._offsets,
            one._nodes,
            one._forces,
            np.concatenate([one._patterns, np.zeros((1, self._n_nodes, 3))]),
            np.append(one._coordinates, [[0.0]], axis=1),
        )
        whole = self._finite(_core.dense_loads(loads, self._n_nodes))
        return whole.reshape(self._n_nodes, 3)

    def select(self, samples: ArrayLike) -> ForceSketch:
        """Return the sketch of some samples.

        Parameters
        ----------
        samples
            Ascending indices of samples, shape (any,).

        Returns
        -------
        ForceSketch

        Raises
        ------
        InputError, InputTypeError
            An index is out of range, or the indices do not ascend.
        """
        chosen = _integers(samples, "samples", len(self) - 1)
        lengths = np.diff(self._offsets)[chosen]
        offsets = np.append(0, np.cumsum(lengths))
        begin = np.repeat(self._offsets[:-1][chosen] - offsets[:-1], lengths)
        entries = begin + np.arange(offsets[-1])
        return ForceSketch(
            self._n_nodes,
            self._times[chosen],
            offsets,
            self._nodes[entries],
            self._forces[entries],
            self._patterns,
            self._coordinates[chosen],
        )

    def thin(self, distance: float, *, progress: Progress = None) -> ForceSketch:
        """Return the sketch of a subset of samples with a minimum distance between loads.

        Parameters
        ----------
        distance
            Minimum Euclidean distance [N] between loads as vectors of 3n forces, at least 0; see
            `thin_samples`.
        progress
            Progress bar: True, False, or None (after two seconds, in a terminal); or a callable
            ``f(done, total)``.

        Returns
        -------
        ForceSketch

        Raises
        ------
        InputError, InputTypeError
            `distance` is negative or not a number.
        """
        return self.select(self._keep(distance_apart(distance, "distance"), progress))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sketch to a file in the safetensors format.

        An existing file is replaced only when the new one is complete.

        Parameters
        ----------
        path
            Name of the file; ``.safetensors`` is added to a name without suffix, and the suffix of
            another format is refused.

        Raises
        ------
        FileFormatError
            The file cannot be written.
        """
        sketch_files.save({name: getattr(self, name) for name in sketch_files.ARRAYS}, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> ForceSketch:
        """Read a sketch from a file written by `save`.

        All contents are checked before use; nothing in the file is executed.

        Parameters
        ----------
        path
            Name of the file.

        Returns
        -------
        ForceSketch
            Sketch that is bitwise equal to the saved one.

        Raises
        ------
        FileFormatError
            The file is missing, unreadable, truncated, damaged, of another kind, or made by a
            newer version of the package; the message says which.
        """
        return sketch_files.load(path, ForceSketch)

    def _keep(self, distance: float, progress: Progress) -> NDArray[np.int32]:
        points = _core.dense_loads(self._loads(), self._n_nodes)
        with callback(progress, "thinning") as tell:
            return _core.thin(points, distance, tell, threads())

    def _loads(
        self,
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        return (self._offsets, self._nodes, self._forces, self._patterns, self._coordinates)

    def __len__(self) -> int:
        return len(self._times)

    def __reduce__(self) -> tuple[type[ForceSketch], tuple[Any, ...]]:
        return ForceSketch, (self._n_nodes, self._times, *self._loads())

    def __repr__(self) -> str:
        return (
            f"<ForceSketch: {len(self)} samples over {self._n_nodes} nodes, "
            f"{len(self._nodes)} forces, {len(self._patterns)} patterns>"
        )


class Recording:
    """A sketch during recording; created by `record`.

    Parameters
    ----------
    model
        Linear model on which the loads act.
    dt
        Default time between samples [s].
    path
        File that is written when a ``with`` block ends. None: no file.

    Raises
    ------
    InputError, InputTypeError
        An argument is out of its range.
    """

    def __init__(self, model: LinearModel, dt: float, path: str | os.PathLike[str] | None) -> None:
        if not isinstance(model, LinearModel):
            raise InputTypeError(
                f"model must be a LinearModel, got {type(model).__name__}; make one with "
                "LinearModel(solid, modes)"
            )
        self._model = model
        self._dt = positive(dt, "dt")
        self._path = None if path is None else as_path(path)
        self._times: list[float] = []
        self._nodes: list[NDArray[np.int32]] = []
        self._forces: list[NDArray[np.float64]] = []
        self._modal: list[NDArray[np.float64] | None] = []

    @property
    def model(self) -> LinearModel:
        """Linear model on which the loads act."""
        return self._model

    def add(
        self,
        force: ArrayLike | None = None,
        nodes: ArrayLike | None = None,
        *,
        modal: ArrayLike | None = None,
        time: float | None = None,
    ) -> NDArray[np.float64]:
        """Record one load and return the linear static displacements under it.

        Parameters
        ----------
        force
            Forces [N] at all nodes, (n, 3) or (3n,), or at `nodes`, (m, 3). None: zero.
        nodes
            Indices of the nodes on which `force` acts, (m,). None: all nodes.
        modal
            Additional reduced forces [N kg^-1/2] along the modes of the model, (k,). None: zero.
        time
            Time of the sample [s], not less than that of the previous one. None: that time plus
            `dt`.

        Returns
        -------
        (n, 3) float64 array
            Displacements [m], as from `LinearModel.displacement`.

        Raises
        ------
        InputError, InputTypeError
            An array has a wrong shape, a value that is not finite or a node index out of range, or
            `time` decreases. The load is not recorded.
        """
        at, forces = sparse_force(force, nodes, self._model.solid.mesh.n_nodes)
        last = self._times[-1] if self._times else 0.0
        if time is None:
            now = last + self._dt if self._times else 0.0
        else:
            now = number(time, "time")
            if self._times and now < last:
                raise InputError(
                    f"time is {now:g} s, but the last sample is at {last:g} s: times must not "
                    "decrease"
                )
        u = self._model.displacement(forces, at, modal=modal)
        self._times.append(now)
        self._nodes.append(at.copy())
        self._forces.append(forces.copy())
        self._modal.append(None if modal is None else reals(modal, "modal").copy())
        return u

    @property
    def sketch(self) -> ForceSketch:
        """Loads recorded so far."""
        lengths = [len(at) for at in self._nodes]
        used = any(modal is not None for modal in self._modal)
        k = len(self._model.modes)
        patterns = coordinates = None
        if used:
            patterns = self._model.patterns
            coordinates = np.array([np.zeros(k) if q is None else q for q in self._modal])
        return ForceSketch(
            self._model.solid.mesh.n_nodes,
            self._times,
            np.append(0, np.cumsum(lengths)).astype(np.int64),
            np.concatenate([np.zeros(0, dtype=np.int32), *self._nodes]),
            np.concatenate([np.zeros((0, 3)), *self._forces]),
            patterns,
            coordinates,
        )

    def __len__(self) -> int:
        return len(self._times)

    def __copy__(self) -> Recording:
        other = Recording(self._model, self._dt, self._path)
        for name in ("_times", "_nodes", "_forces", "_modal"):
            setattr(other, name, list(getattr(self, name)))
        return other

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # saved after an exception too: Ctrl-C is the usual end of a recording
        if self._path is not None and self._times:
            self.sketch.save(self._path)


def record(
    model: LinearModel, dt: float = 1.0 / 30.0, path: str | os.PathLike[str] | None = None
) -> Recording:
    """Start a recording of loads on a linear model, for a script or a user interface.

    ::

        model = rf.LinearModel(solid, 20)
        with rf.record(model, path="pull.safetensors") as recording:
            for strength in np.linspace(0.0, 5.0, 50):
                u = recording.add([[0.0, 0.0, strength]], nodes=[tip])
        basis = rf.sketch_basis(solid, recording.sketch, r=12)

    Parameters
    ----------
    model
        Linear model on which the loads act; `Recording.add` returns its displacements.
    dt
        Default time between samples [s], positive.
    path
        File to which the sketch is saved when the ``with`` block ends, also after an error or
        Ctrl-C. None: no file.

    Returns
    -------
    Recording
        A context manager, which can also be used without ``with``.

    Raises
    ------
    InputError, InputTypeError
        `model` is not a LinearModel, `dt` is not positive, or `path` is not a path.
    """
    return Recording(model, dt, path)


def _integers(value: ArrayLike, name: str, most: int) -> NDArray[np.int32]:
    """Return read-only indices from 0 to `most`, shape (any,)."""
    array = as_array(value, name, "integers")
    if array.size == 0:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise InputTypeError(f"{name} must hold integers, got dtype {array.dtype}")
    if array.ndim != 1:
        raise InputError(f"{name} must have one axis, got shape {array.shape}")
    bad = np.flatnonzero((array < 0) | (array > most))
    if bad.size:
        raise InputError(f"{name}[{bad[0]}] is {array[bad[0]]}; allowed are 0 to {most}")
    result = array.astype(np.int32)
    result.flags.writeable = False
    return result
