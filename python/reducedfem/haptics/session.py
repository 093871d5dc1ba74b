"""Haptic sessions: contact, virtual coupling and deformation at 1 kHz, in a C thread."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.base.check import flag, number
from reducedfem.base.run import Progress, callback
from reducedfem.contact.contact import Contact
from reducedfem.dynamics.explicit import CentralDifferences
from reducedfem.dynamics.integrator import ImplicitSimulation
from reducedfem.errors import DeviceError, FileFormatError, InputError, InputTypeError
from reducedfem.haptics import session_parts as parts
from reducedfem.haptics.bodies import Coupling, bodies_of
from reducedfem.haptics.devices import Device
from reducedfem.haptics.record_queue import RecordQueue, count_cycles, make_cycles
from reducedfem.haptics.records import HapticRecords
from reducedfem.haptics.report import HapticReport, report_of
from reducedfem.haptics.session_file import SessionFile, is_active
from reducedfem.haptics.settings import HapticSettings
from reducedfem.haptics.snapshot import HapticReader, HapticSnapshot, Layout
from reducedfem.haptics.workspace import Workspace
from reducedfem.touch.touched import Touched

__all__ = ["HapticSession"]

_live: weakref.WeakSet[HapticSession] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    with contextlib.ExitStack() as all_of_them:
        for session in list(_live):
            all_of_them.callback(session.close)


class HapticSession:
    """Real-time loop of contact, virtual coupling and deformation (Barbic 2007, figure 4.2).

    A cycle reads the device, evaluates contact, moves the simulation object by the coupling,
    writes the force and steps the bodies. `start`, or a ``with`` block, runs cycles in a C thread;
    `run` makes them here. Parts are copied; `stop` returns states. See ``docs/haptics.md``.

    Parameters
    ----------
    contact
        Contact of the held object, with the field, and a shell; several with the same `field` and
        grasp point; or a body that the hand touches directly: a `PointProxyContact`, or a
        `CentralDifferences` whose `RigidProxy` the hand moves.
    device
        Device that the hand holds.
    coupling
        Coupling of object and hand. With `max_depth`, a `reach` of None becomes the object's.
    simulation, field_simulation
        Simulations of the shell (a sequence for several), and of the held object if it has a
        `DeformedField`. Steps must divide the period. None: at rest (``[None]``: no warning).
    interpolation, simulation_rate
        Steps of a `CentralDifferences`: None: in each cycle; "delay" or "stiffness": in a thread,
        with this number of periods per second [Hz], None: 200.
    workspace
        Map from the frame of the device to the world; None: the identity.
    rate
        Cycles per second [Hz], 10 to 20000.
    budget_us
        Computing time of a cycle [us], up to one period, in place of the limits of the contacts.
        None: half a period; 0: the limits of the contacts, with friction times too (`run`).
    coupled
        True: solve the motion of the object and the deformations together, as with a
        `FrictionContact` in any case. False: the object first, then the bodies.
    auto_stiffness
        Meaning of ``stiffness="auto"`` of contacts: "coupling", 20 times that of the present
        coupling, or "contact", `PenaltyContact.stiffnesses`.
    max_force, max_torque, force_slew, torque_slew
        Limits of force [N], torque [N m] and their rates, per s. None: those of the device, and
        no limit of the rates; such a limit delays forces, which can add energy.
    ramp, silence
        Time in which forces fade in and out [s], 0: at once. Time without a new sample after
        which forces are zero [s], None: 0.05 s, `UdpDevice` 0.01 s, `MouseDevice` 0.3 s.
    passivity, energy_allowance
        True: keep the energy given to the hand within the allowance [J].
    render
        Force of a saturated coupling: "linear", k e up to the limits of the device (section 4.9),
        or "saturated", the opposite of the force on the object.
    duration
        Length of the session [s], without the final fading; None: that of the device, if any.
    record, keep_records
        File of all records (``.npy``), replaced when the session stops; None: no file. Number of
        the last records that `records` returns, and by which the file may lag, up to 2**24.
    priority, lock_memory
        Real-time priority of the thread (SCHED_FIFO), 1 to 98, 0: none. True: lock the memory of
        the process. `report` says if the system refuses either.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or value; the device belongs to another session; a body is
        displaced by more than 30 times its length, or steps take too long for a cycle.
    """

    __slots__ = (
        "__weakref__",
        "_bodies",
        "_core",
        "_device",
        "_file",
        "_layout",
        "_life",
        "_making",
        "_queue",
        "_restored",
        "_seen",
        "_settings",
        "_stopping",
    )

    def __init__(
        self,
        contact: Contact | Sequence[Contact] | Touched | CentralDifferences,
        device: Device,
        *,
        coupling: Coupling | None = None,
        simulation: parts.Simulation | Sequence[parts.Simulation | None] | None = None,
        field_simulation: ImplicitSimulation | None = None,
        interpolation: str | None = None,
        simulation_rate: float | None = None,
        workspace: Workspace | None = HapticSettings.workspace,
        rate: float = HapticSettings.rate,
        budget_us: float | None = HapticSettings.budget_us,
        coupled: bool = HapticSettings.coupled,
        auto_stiffness: str = HapticSettings.auto_stiffness,
        max_force: float | None = HapticSettings.max_force,
        max_torque: float | None = HapticSettings.max_torque,
        force_slew: float | None = HapticSettings.force_slew,
        torque_slew: float | None = HapticSettings.torque_slew,
        ramp: float = HapticSettings.ramp,
        silence: float | None = HapticSettings.silence,
        passivity: bool = HapticSettings.passivity,
        energy_allowance: float = HapticSettings.energy_allowance,
        render: str = HapticSettings.render,
        duration: float | None = HapticSettings.duration,
        record: str | os.PathLike[str] | None = HapticSettings.record,
        keep_records: int = HapticSettings.keep_records,
        priority: int = HapticSettings.priority,
        lock_memory: bool = HapticSettings.lock_memory,
    ) -> None:
        bodies = bodies_of(
            contact, device, coupling, simulation, field_simulation, interpolation, simulation_rate
        )
        settings = HapticSettings(
            workspace=workspace, rate=rate, budget_us=budget_us, coupled=coupled,
            auto_stiffness=auto_stiffness, max_force=max_force, max_torque=max_torque,
            force_slew=force_slew, torque_slew=torque_slew, ramp=ramp, silence=silence,
            passivity=passivity, energy_allowance=energy_allowance, render=render,
            duration=duration, record=record, keep_records=keep_records, priority=priority,
            lock_memory=lock_memory,
        )  # fmt: skip
        bodies.check(device, settings, 3)
        self._settings, self._bodies, self._device = settings, bodies, device
        self._life = threading.RLock()  # start, stop, and the file
        self._making = self._stopping = False  # `run` makes cycles; it is asked to end
        self._restored = True
        self._core = bodies.session(device, settings)
        self._queue = RecordQueue(self._core, settings.keep_records)
        self._file = None if record is None else SessionFile(settings, self._queue.dtype)
        self._layout, self._seen = Layout(self._core, bodies.simulations), threading.local()
        _live.add(self)

    def __del__(self) -> None:
        # the constructor may have failed, closing may have been interrupted
        if hasattr(self, "_seen") and (not self._core.status()["closed"] or self._writes):
            self.close()

    def __repr__(self) -> str:
        status = self._core.status()
        return (
            f"<HapticSession: {status['phase']}, {status['ticks']} cycles at {self.rate:g} Hz, "
            f"{self._device!r}>"
        )

    def __reduce__(self) -> Any:
        """Reject copies and pickles: a session owns one thread and one device."""
        raise InputTypeError(
            "a HapticSession can be neither copied nor pickled: make another one with its own "
            "device, the same contacts and coupling, and a clone() of each simulation"
        )

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Contacts as given; the session evaluates copies of them. None of a touched body."""
        return self._bodies.contacts

    @property
    def touched(self) -> Touched | CentralDifferences | None:
        """Body that the hand touches directly, as given; None with contacts."""
        return self._bodies.given

    @property
    def device(self) -> Device:
        """Device that the hand holds."""
        return self._device

    @property
    def rate(self) -> float:
        """Cycles per second [Hz]."""
        return float(self._settings.rate)

    @property
    def dt(self) -> float:
        """Length of a cycle [s]."""
        return self._settings.dt

    def __enter__(self) -> HapticSession:
        """Start the session."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the session; raise its failure, unless another exception is being raised."""
        self._close()
        self._bodies.warn_of_strains(self._restored)
        status = self._core.status()
        if kind is None and status["phase"] == "failed":
            raise DeviceError(status["failure"])

    def start(self) -> None:
        """Open the device and start the loop; after `stop`, continue in the same state.

        On a restart the object and the deformable bodies are where they were left, and the
        workspace is shifted so that the hand takes up the object at its present pose, as after a
        clutch. `recentre` undoes the shift. Records are appended to the file, or written to a
        new one if that was moved.

        Raises
        ------
        DeviceError
            The device cannot be opened.
        InputError
            The session is running, closed, or has failed; `run` makes its cycles; this process
            is a fork of the one that made it; the steps of a `CentralDifferences` take too long.
        FileFormatError
            The file for the records cannot be written.
        """
        self._refuse_a_fork()
        with self._life:
            self._refuse_a_run()
            self._start()

    def _start(self) -> None:
        before = self._core.status()
        if not (before["closed"] or is_active(before)):
            self._bodies.require_real_time()
        file = None if before["closed"] or self._writes else self._file
        try:
            if file is not None:
                file.begin(before)
            self._core.start(-1 if self._file is None else self._file.descriptor)
        except BaseException:
            # a signal handler may have raised after the thread began
            if not is_active(before) and is_active(self._core.status()):
                self._restored = False
                with contextlib.suppress(FileFormatError):
                    self.stop()
            # keep the file of a session that is already running
            elif file is not None:
                file.drop()
            raise
        self._restored = False

    def run(
        self,
        cycles: int | None = None,
        *,
        seconds: float | None = None,
        progress: Progress = False,
    ) -> HapticRecords:
        """Make cycles in this thread, without waiting between them, and return their records.

        For scripts and tests: when `run` returns, a device continues to render the last force
        without a watchdog. For a hand use `start`. Ctrl-C ends it between two cycles; the records
        up to then are in `records`. With limits of time, results depend on the machine: for the
        same bits each time give the session budget_us=0, and each `FrictionContact` 1e5.

        Parameters
        ----------
        cycles
            Number of cycles.
        seconds
            Session time to simulate [s], in place of `cycles`; rounded up to whole cycles.
        progress
            True: a progress bar; a callable: called repeatedly as ``f(done, total)``.

        Returns
        -------
        HapticRecords
            Records of these cycles.

        Raises
        ------
        DeviceError, DivergedError
            The device failed; the simulation failed, or would displace a body by more than 30
            times its length (`ImplicitSimulation.step`). The records up to then are in `records`.
        FileFormatError
            The file for the records cannot be written: raised before the first cycle, or, if the
            disk is full, after the last one; the records are then in `records`.
        InputError, InputTypeError
            Both or neither of `cycles` and `seconds` are given; one of them or `progress` has a
            value that is not allowed. The session is running in its thread or in another `run`,
            is closed, has failed, or this process is a fork of the one that made it. It was
            stopped or closed during `run`: the records up to then are in `records`.
        """
        self._refuse_a_fork()
        total = count_cycles(cycles, seconds, self.rate)
        mine = False
        try:
            with callback(progress, "cycles") as tell:
                with self._life:
                    self._refuse_a_run()
                    self._core.advance(0)  # raises if no cycle may be made now
                    self._stopping, self._restored = False, False
                    self._making = mine = True
                    self._finish_file()  # of a thread that has ended by itself
                    if self._file is not None:  # raises before the first cycle
                        self._file.try_out()
                self._queue.fetch()
                return make_cycles(
                    self._core, self._queue, total, tell, lambda: self._stopping, self._store
                )
        finally:
            if mine:
                self._making = False

    def _store(self, records: NDArray[np.void]) -> None:
        if self._file is not None:
            with self._life:
                self._file.store(records)

    def _refuse_a_run(self) -> None:
        if self._making:
            raise InputError(
                "the session is inside `run`, in another thread or in a caller of this function: "
                "wait until `run` returns, or stop the session"
            )

    def _refuse_a_fork(self) -> None:
        if not self._core.status()["here"]:
            raise InputError(
                "the session belongs to the process that made it, and this process is a fork of "
                "that one: make another session here"
            )

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the session has ended by itself.

        Parameters
        ----------
        timeout
            Longest time to wait [s]; None: no limit.

        Returns
        -------
        bool
            True if the session has ended, was stopped or closed; False after the timeout.

        Raises
        ------
        InputError, InputTypeError
            `timeout` is not a finite number; the session was never started, or this process is a
            fork of the one that made it.
        """
        self._refuse_a_fork()
        status = self._core.status()
        if status["phase"] == "ready":
            if status["closed"]:
                raise InputError("the session is closed: it was never started")
            raise InputError("the session was not started: use it in a with block, or call start")
        until = math.inf if timeout is None else time.monotonic() + number(timeout, "timeout")
        # polling lets other threads use the session
        while not self._core.wait(0.0):
            if time.monotonic() >= until:
                return False
            time.sleep(0.005)
        return True

    def stop(self) -> None:
        """Fade out the forces, end the thread and close the device; allowed at any time.

        Does nothing in a fork of the process that made the session. A `PlausibilityWarning` follows
        if a cubature was strained beyond the poses that trained it, as for simulations.

        Raises
        ------
        FileFormatError
            Not all records could be written. On a full disk the file has the first records,
            `records` the last ones. If the disk does not respond, the message names the file with
            the written records, and the next `stop` or `close` waits again. If the file lagged by
            more than `keep_records`, the message gives the number of lost cycles.
        """
        if self._core.status()["here"]:
            self._end(self._core.stop)
            self._bodies.warn_of_strains(self._restored)

    def _end(self, end: Callable[[], None]) -> None:
        self._stopping = True
        with self._life:
            end()
            try:
                self._finish_file()
            finally:
                # a stuck thread still uses its state
                if not self._restored and self._core.status()["joined"]:
                    self._restored = True
                    self._bodies.restore(self._core)

    def close(self) -> None:
        """Stop permanently, and free the device for another session.

        Sessions are also closed when they are garbage collected and at interpreter exit.

        Raises
        ------
        FileFormatError
            As `stop`.
        """
        self._close()
        self._bodies.warn_of_strains(self._restored)

    def _close(self) -> None:
        if not self._core.status()["here"]:
            return
        try:
            self._end(self._core.close)
        finally:
            # a stuck thread or file is tried again at exit
            if not self._writes:
                _live.discard(self)

    def snapshot(self) -> HapticSnapshot:
        """Return the newest state, without blocking the loop; any thread may call this.

        Returns
        -------
        HapticSnapshot

        Raises
        ------
        InputError
            No cycle has ended yet.
        """
        newest = self._core.snapshot()
        if newest is None:
            raise InputError("no cycle has ended yet: start or run the session first")
        fresh = newest[0] != getattr(self._seen, "number", 0)
        self._seen.number = newest[0]
        return HapticSnapshot(*newest, self._layout, fresh)

    def reader(self, *, points: bool = False) -> HapticReader:
        """Return a reader of snapshots, for threads that follow the session, such as viewers.

        Parameters
        ----------
        points
            True: snapshots have touching points (`HapticSnapshot.contacts`) while this reader
            reads. Copying up to 256 of them lengthens cycles in contact by some microseconds.

        Returns
        -------
        HapticReader

        Raises
        ------
        InputTypeError
            `points` is not a bool.
        """
        return HapticReader(self._core, self._layout, flag(points, "points"))

    def records(self, *, drain: bool = False) -> HapticRecords:
        """Return the records of the last cycles, as many as `keep_records`.

        Empty while the records go to a file; the records of `run` are its result instead. Any
        thread may call it.

        Parameters
        ----------
        drain
            True: return the records since the last such call and discard them. Frequent calls
            return each record exactly once, for sessions of any length.

        Returns
        -------
        HapticRecords

        Raises
        ------
        InputTypeError
            `drain` is not a bool.
        """
        only_once = flag(drain, "drain")
        array = self._queue.take(fetch=not self._making, drain=only_once)
        return HapticRecords(array, self._queue.scene)

    def _name(self, scene: str) -> None:
        """Name the scene in the records."""
        self._queue.scene = scene
        if self._file is not None:
            self._file.name(scene)

    def enable(self, forces: bool = True) -> None:
        """Fade forces in or out.

        Parameters
        ----------
        forces
            True: fade in; False: fade out.

        Raises
        ------
        InputError, InputTypeError
            64 commands wait already; the session is closed or has failed; this process is a fork
            of the one that made it; `forces` is not a bool.
        """
        self._command(0, 1.0 if flag(forces, "forces") else 0.0)

    def recentre(self) -> None:
        """Move manipulandum and simulation object to the beginning of the workspace.

        Raises
        ------
        InputError
            64 commands wait already; the session is closed or has failed; this process is a fork
            of the one that made it.
        """
        self._command(1, 0.0)

    @property
    def coupling(self) -> Coupling | None:
        """Coupling of object and hand; it may be replaced while the session runs.

        With `max_depth` and no `reach` given, it has the reach of the held object. None of a
        touched body, for which it cannot be set.
        """
        return self._bodies.coupling

    @coupling.setter
    def coupling(self, coupling: Coupling) -> None:
        known, static, dynamics = self._bodies.coupled_by(coupling, self.dt)
        self._command(2, 0.0, static, dynamics)
        self._bodies.coupling = known

    def _command(self, kind: int, value: float, static: Any = None, dynamics: Any = None) -> None:
        self._refuse_a_fork()
        status = self._core.status()
        if status["closed"]:
            raise InputError("the session is closed: make another one")
        if status["phase"] == "failed":
            raise InputError(f"the session has failed: {status['failure']}")
        if not self._core.command(kind, value, self.dt, static, dynamics):
            raise InputError(
                "64 commands are queued already, and a session executes them only while it runs: "
                "start it first"
            )

    def report(self) -> HapticReport:
        """Return statistics of the session so far.

        Returns
        -------
        HapticReport
        """
        return report_of(self._core, self._settings, self._bodies)

    def _finish_file(self) -> None:
        if self._file is not None:
            self._file.finish(self._core)

    @property
    def _writes(self) -> bool:
        return self._file is not None and self._file.descriptor >= 0
