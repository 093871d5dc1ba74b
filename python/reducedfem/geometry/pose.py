"""Poses: positions with rotations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reducedfem.base.check import reals, rotations
from reducedfem.errors import InputError, InputTypeError

__all__ = ["Pose"]

_UNIT = 1e-6  # tolerance of a quaternion's norm, as in C
_TURN = 1e-6  # tolerance of the products of a rotation matrix's rows


class Pose:
    """Position and rotation of a frame: the map from the frame of an object to the world.

    It replaces a pair of position and quaternion in calls: ``contact.evaluate(pose)`` equals
    ``contact.evaluate(pose.position, pose.quaternion)``. It unpacks like a pair.

    Parameters
    ----------
    position
        Position of the frame's origin in the world [m], shape (3,).
    quaternion
        Rotation (w, x, y, z) from the frame to the world, of norm 1 to within 1e-6; normalised.
        A SciPy Rotation has another order: pass its ``as_matrix()`` to `from_matrix`.

    Raises
    ------
    InputError, InputTypeError
        A wrong shape, a value that is not finite, or a quaternion of another norm.
    """

    __slots__ = ("_position", "_quaternion")

    def __init__(
        self,
        position: ArrayLike = (0.0, 0.0, 0.0),
        quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0),
    ) -> None:
        self._position = _fixed(reals(position, "position"), 3, "position")
        turn = _fixed(reals(rotations(quaternion, "quaternion"), "quaternion"), 4, "quaternion")
        length = float(np.linalg.norm(turn))
        if not abs(length - 1.0) <= _UNIT:
            raise InputError(
                f"quaternion ({', '.join(f'{x:g}' for x in turn)}) has norm {length:.9g}; it must "
                f"be 1 to within {_UNIT:g} (order w, x, y, z): divide it by its norm"
            )
        self._quaternion = _fixed(turn / length, 4, "quaternion")

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Pose:
        """Return the pose of a homogeneous matrix, or of a rotation matrix.

        Parameters
        ----------
        matrix
            Shape (4, 4) with the last row (0, 0, 0, 1), (3, 4), or (3, 3) for a rotation only.
            Columns of the rotation are the frame's axes in the world; the displacement is in [m].

        Returns
        -------
        Pose

        Raises
        ------
        InputError, InputTypeError
            Another shape, a value that is not finite, another last row, or a part that is not a
            rotation to within 1e-6, such as a scaling or reflection.
        """
        given = reals(matrix, "matrix")
        if given.shape not in ((4, 4), (3, 4), (3, 3)):
            raise InputError(f"matrix must have shape (4, 4), (3, 4) or (3, 3), got {given.shape}")
        if len(given) == 4 and not np.array_equal(given[3], [0.0, 0.0, 0.0, 1.0]):
            raise InputError(f"the last row of matrix must be (0, 0, 0, 1), got {given[3]}")
        turn = given[:3, :3]
        off = float(np.abs(turn @ turn.T - np.eye(3)).max())
        if not (off <= _TURN and np.linalg.det(turn) > 0.0):
            why = f"its rows are orthonormal but for {off:.3g}" if off > _TURN else "it mirrors"
            raise InputError(f"matrix[:3, :3] is no rotation: {why}")
        place = given[:3, 3] if given.shape[1] == 4 else np.zeros(3)
        return cls._made(place, _of_matrix(turn))

    @classmethod
    def _made(cls, position: NDArray[np.float64], quaternion: NDArray[np.float64]) -> Pose:
        """Return a pose without checks."""
        pose = cls.__new__(cls)
        pose._position = _fixed(position, 3, "position")
        pose._quaternion = _fixed(quaternion, 4, "quaternion")
        return pose

    @property
    def position(self) -> NDArray[np.float64]:
        """Position of the frame's origin in the world [m], read-only, shape (3,)."""
        return self._position

    @property
    def quaternion(self) -> NDArray[np.float64]:
        """Rotation (w, x, y, z), read-only, shape (4,)."""
        return self._quaternion

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Rotation matrix from the frame to the world, shape (3, 3)."""
        w, x, y, z = self._quaternion
        return np.array(
            [
                [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
                [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
                [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
            ]
        )

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Homogeneous matrix, shape (4, 4)."""
        whole = np.eye(4)
        whole[:3, :3], whole[:3, 3] = self.rotation, self._position
        return whole

    def apply(self, points: ArrayLike) -> NDArray[np.float64]:
        """Return points of the frame in world coordinates.

        Parameters
        ----------
        points
            Points in the frame [m], shape (3,) or (n, 3).

        Returns
        -------
        ndarray
            Points in the world [m], of the same shape.

        Raises
        ------
        InputError, InputTypeError
            Another shape, or a value that is not finite.
        """
        given = reals(points, "points")
        if given.ndim not in (1, 2) or given.shape[-1] != 3:
            raise InputError(f"points must have shape (3,) or (n, 3), got {given.shape}")
        moved: NDArray[np.float64] = given @ self.rotation.T + self._position
        return moved

    def inverse(self) -> Pose:
        """Return the inverse, the map from the world to the frame.

        Returns
        -------
        Pose
        """
        back = self._quaternion * [1.0, -1.0, -1.0, -1.0]
        return Pose._made(-(self.rotation.T @ self._position), back)

    def __matmul__(self, other: Pose) -> Pose:
        """Return the composition: first the other pose, then this one."""
        if not isinstance(other, Pose):
            return NotImplemented
        a, b = self._quaternion, other._quaternion
        vector = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
        both = np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], vector])
        return Pose._made(self.apply(other._position), both / np.linalg.norm(both))

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        return iter((self._position, self._quaternion))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pose):
            return NotImplemented
        return np.array_equal(self._position, other._position) and np.array_equal(
            self._quaternion, other._quaternion
        )

    def __hash__(self) -> int:
        # + 0.0: equal poses may have 0.0 and -0.0
        return hash(((self._position + 0.0).tobytes(), (self._quaternion + 0.0).tobytes()))

    def __repr__(self) -> str:
        place, turn = (", ".join(f"{x + 0.0:g}" for x in part) for part in self)
        return f"Pose(({place}), ({turn}))"

    def __reduce__(self) -> tuple[Any, ...]:
        return Pose._made, (self._position, self._quaternion)


def _fixed(array: NDArray[np.float64], n: int, name: str) -> NDArray[np.float64]:
    if array.shape != (n,):
        raise InputError(f"{name} must have shape ({n},), got {array.shape}")
    copy: NDArray[np.float64] = array.copy()
    copy.flags.writeable = False
    return copy


def _of_matrix(r: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quaternion of a rotation matrix, from its largest component (Shepperd)."""
    trace = float(np.trace(r))
    k = int(np.argmax([trace, *np.diag(r)]))
    vector = np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    if k == 0:
        found = np.concatenate([[1.0 + trace], vector])
    else:
        row = (r + r.T)[k - 1]
        row[k - 1] = 1.0 + 2.0 * r[k - 1, k - 1] - trace
        found = np.concatenate([[vector[k - 1]], row])
    unit: NDArray[np.float64] = found / np.linalg.norm(found)
    return unit


def pose_arguments(position: Any, quaternion: Any) -> tuple[ArrayLike, ArrayLike]:
    """Return position and quaternion of two arguments; the first may be a Pose."""
    if isinstance(position, Pose):
        if quaternion is not None:
            raise InputTypeError("quaternion is given, but position is a Pose, which has its own")
        return position.position, position.quaternion
    if quaternion is None:
        raise InputTypeError("quaternion is missing: give one, or a Pose for position")
    return position, quaternion


def poses_arguments(positions: Any, quaternions: Any) -> tuple[ArrayLike, ArrayLike]:
    """Return positions and quaternions of two arguments; the first may be a sequence of Poses."""
    if quaternions is None:
        try:
            poses = list(positions)
        except TypeError:
            poses = []
        if not poses or not all(isinstance(pose, Pose) for pose in poses):
            raise InputTypeError(
                "quaternions are missing: give them, or a sequence of Poses for positions"
            )
        return np.stack([p.position for p in poses]), np.stack([p.quaternion for p in poses])
    return positions, quaternions
