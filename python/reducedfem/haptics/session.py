"""Haptic sessions: contact, virtual coupling and deformation at 1 kHz, in a C thread."""

from __future__ import annotations

import atexit
import contextlib
import functools
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from reducedfem import _core
from reducedfem.base.check import choice, count, flag, integer, limit, number
from reducedfem.base.console import count_text
from reducedfem.base.run import Progress, callback
from reducedfem.contact.penalty import PenaltyContact
from reducedfem.dynamics.integrator import ImplicitNewmark
from reducedfem.errors import DeviceError, FileFormatError, InputError, InputTypeError
from reducedfem.haptics.coupling import DynamicCoupling, VirtualCoupling
from reducedfem.haptics.devices import Device
from reducedfem.haptics.records import HapticRecords
from reducedfem.haptics.report import HapticReport
from reducedfem.haptics.session_parts import check_parts, lengths, sequence, warn_of_rest
from reducedfem.haptics.snapshot import HapticReader, HapticSnapshot, Layout
from reducedfem.haptics.workspace import Workspace
from reducedfem.io.atomic import as_path
from reducedfem.io.record_file import RECORD, RecordFile
from reducedfem.solid.plausible import warn_of_reach

__all__ = ["HapticSession"]

# timeouts [s]: without a cycle until the device is halted, without progress until a file is
# abandoned, and, longer than the first, without a cycle until a stopping thread is abandoned
_STALL = 0.05
_PATIENCE = 5.0
_HANG = 2.0
# largest damping of the passivity controller [N s/m], [N m s]: stable at 1 kHz, hand of 0.1 kg
_MOST_DAMPING = 20.0
_MOST_TORSIONAL_DAMPING = 0.02
# thresholds of the report's advice: share of the cycles, chatter relative to the force, ratio to
# the stiffness that suits the coupling
_OFTEN, _SHAKES, _STIFFER = 0.01, 0.05, 4.0
_SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}

_live: weakref.WeakSet[HapticSession] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    with contextlib.ExitStack() as all_of_them:
        for session in list(_live):
            all_of_them.callback(session.close)


class HapticSession:
    """Real-time loop of contact, virtual coupling and deformation (Barbic 2007, figure 4.2).

    A cycle reads the device, evaluates contact, moves the simulation object by the coupling,
    writes the force to the device and steps the deformable objects. `start`, or a ``with`` block,
    runs cycles in a C thread, one per period; `run` makes them in the calling thread, without
    waiting. Contacts and simulations are copied; `stop` returns the state of the simulations.
    Coupled cycles, limits of forces, energy, records: see ``docs/haptics.md``.

    Parameters
    ----------
    contact
        Contact of the held object, the one with the distance field, with a shell; or a sequence
        of contacts with the same `field` and grasp point.
    device
        Device that the hand holds.
    coupling
        Coupling of object and hand; with `max_depth` and no `reach` it gets the object's reach.
    simulation, field_simulation
        Simulation of the shell (a sequence for several contacts; None: a shell at rest, as
        ``[None]`` without a warning if it could deform), and of the held object if its field is
        a `DeformedField`. Time steps must divide the period; their gravity acts.
    workspace
        Map from the frame of the device to the world; None: the identity.
    rate
        Cycles per second [Hz], 10 to 20000.
    budget_us
        Computing time of a cycle [us], up to one period, in place of the limits of the contacts.
        None: half a period; 0: the limits of the contacts.
    coupled
        True: solve the motion of the object and the deformations together, 6 + r unknowns.
        False: move the object, then step the bodies under the forces before that motion.
    auto_stiffness
        Meaning of ``stiffness="auto"`` of contacts: "coupling", 20 times that of the present
        coupling, or "contact", `PenaltyContact.stiffnesses`.
    max_force, max_torque, force_slew, torque_slew
        Limits of force [N], torque [N m] and their rates [N/s], [N m/s]. None: those of the
        device, and no limit of the rates; such a limit delays forces, which can add energy.
    ramp, silence
        Time in which forces fade in and out [s], 0: at once. Time without a new sample after
        which forces are zero [s], None: 0.01 s for a `UdpDevice`, 0.05 s for others.
    passivity, energy_allowance
        True: keep the energy given to the hand within the allowance [J].
    render
        Force on the hand from a saturated coupling: "linear", k e up to the limits of the device
        (section 4.9), or "saturated", the opposite of the force on the object.
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
        An argument has a wrong type or value; the device belongs to another session; a
        simulation displaces its body by more than 30 times its length.
    """

    __slots__ = (
        "__weakref__",
        "_closed",
        "_contacts",
        "_core",
        "_coupling",
        "_device",
        "_dt",
        "_field_simulation",
        "_file",
        "_keep_records",
        "_kept",
        "_layout",
        "_life",
        "_lost",
        "_making",
        "_owner",
        "_rate",
        "_reading",
        "_record_path",
        "_restored",
        "_seen",
        "_simulations",
        "_stopping",
        "_suited",
        "_written",
    )

    def __init__(
        self,
        contact: PenaltyContact | Sequence[PenaltyContact],
        device: Device,
        *,
        coupling: VirtualCoupling | DynamicCoupling,
        simulation: ImplicitNewmark | Sequence[ImplicitNewmark | None] | None = None,
        field_simulation: ImplicitNewmark | None = None,
        workspace: Workspace | None = None,
        rate: float = 1000.0,
        budget_us: float | None = None,
        coupled: bool = True,
        auto_stiffness: str = "coupling",
        max_force: float | None = None,
        max_torque: float | None = None,
        force_slew: float | None = None,
        torque_slew: float | None = None,
        ramp: float = 0.2,
        silence: float | None = None,
        passivity: bool = False,
        energy_allowance: float = 1e-4,
        render: str = "linear",
        duration: float | None = None,
        record: str | os.PathLike[str] | None = None,
        keep_records: int = 10_000,
        priority: int = 80,
        lock_memory: bool = True,
    ) -> None:
        contacts = sequence(contact, "contact", PenaltyContact, none=False)
        forgotten = simulation is None
        if simulation is None:
            simulation = [None] * len(contacts)
        simulations = sequence(simulation, "simulation", ImplicitNewmark, none=True)
        if len(simulations) != len(contacts):
            raise InputError(
                f"simulation has {len(simulations)} elements, contact has {len(contacts)}: one "
                "each, None for a shell at rest"
            )
        if field_simulation is not None and not isinstance(field_simulation, ImplicitNewmark):
            raise InputTypeError(
                "field_simulation must be an ImplicitNewmark, got "
                f"{type(field_simulation).__name__}"
            )
        if not isinstance(device, Device):
            raise InputTypeError(
                f"device must be a Device, such as SimulatedHand, got {type(device).__name__}"
            )
        if not isinstance(coupling, VirtualCoupling | DynamicCoupling):
            raise InputTypeError(
                "coupling must be a VirtualCoupling or a DynamicCoupling, got "
                f"{type(coupling).__name__}"
            )
        hertz = number(rate, "rate")
        if not 10.0 <= hertz <= 20_000.0:
            raise InputError(f"rate must be between 10 and 20000 Hz, got {hertz:g}")
        self._dt = 1.0 / hertz
        self._rate = hertz
        place = Workspace() if workspace is None else workspace
        if not isinstance(place, Workspace):
            raise InputTypeError(f"workspace must be a Workspace, got {type(place).__name__}")
        period = 1e6 * self._dt
        budget = 0.5 * period if budget_us is None else number(budget_us, "budget_us")
        if budget > period * (1.0 + 1e-9):
            raise InputError(
                f"budget_us is {budget:g}, a cycle at {hertz:g} Hz lasts {period:g} us; 0 is for "
                "no budget"
            )
        lasts = device.duration if duration is None else number(duration, "duration")
        if duration is not None and not lasts > 0.0:
            raise InputError(f"duration must be positive or None, got {lasts:g}")
        choice(render, "render", ("linear", "saturated"))
        choice(auto_stiffness, "auto_stiffness", ("coupling", "contact"))
        self._suited = auto_stiffness == "coupling"
        check_parts(contacts, simulations, field_simulation, self._dt)
        if forgotten:
            warn_of_rest(contacts, 2)
        warn_of_reach(lengths(contacts, device, place.scale), 3)
        self._contacts, self._simulations = contacts, simulations
        self._coupling = coupling._reaching(contacts[0])
        self._field_simulation, self._device = field_simulation, device
        self._record_path = None if record is None else as_path(record, "record")
        self._file = None if self._record_path is None else RecordFile(self._record_path)
        self._written = self._lost = 0
        self._keep_records = count(keep_records, "keep_records", 1 << 24)
        self._kept: list[bytes] = []
        self._owner = os.getpid()
        self._life = threading.RLock()  # start, stop, and the file
        self._reading = threading.RLock()  # keeps records in order
        self._making = self._stopping = False  # `run` makes cycles; it is asked to end
        self._restored = True
        static, dynamics = _split(self._coupling, self._dt)
        self._core = _core.Session(
            device._core,
            tuple(c._core for c in contacts),
            tuple(None if s is None else s._core for s in simulations),
            None if field_simulation is None else field_simulation._core,
            static,
            dynamics,
            {
                "dt": self._dt,
                "budget_us": budget,
                "coupled": flag(coupled, "coupled"),
                "saturated": render == "saturated",
                "suited": self._suited,
                **place._core_settings(),
                "max_force": limit(max_force, "max_force"),
                "max_torque": limit(max_torque, "max_torque"),
                "force_slew": limit(force_slew, "force_slew"),
                "torque_slew": limit(torque_slew, "torque_slew"),
                "ramp": number(ramp, "ramp"),
                "silence": number(device._silence if silence is None else silence, "silence"),
                "passivity": flag(passivity, "passivity"),
                "energy_allowance": number(energy_allowance, "energy_allowance"),
                "most_damping": _MOST_DAMPING,
                "most_torsional_damping": _MOST_TORSIONAL_DAMPING,
                "duration": 0.0 if math.isinf(lasts) else lasts,
                "stall": max(_STALL, 10.0 * self._dt),
                "priority": integer(priority, "priority"),
                "lock_memory": flag(lock_memory, "lock_memory"),
                "records": self._keep_records,
                "patience": _PATIENCE,
                "hang": _HANG,
            },
        )
        self._layout, self._seen = Layout(self._core), threading.local()
        self._closed = False
        _live.add(self)

    def __del__(self) -> None:
        # the constructor may have failed
        if not hasattr(self, "_closed"):
            return
        # closing may have been interrupted
        if not self._closed or (self._file is not None and self._file.descriptor >= 0):
            self.close()

    def __repr__(self) -> str:
        status = self._core.status()
        return (
            f"<HapticSession: {status['phase']}, {status['ticks']} cycles at {self._rate:g} Hz, "
            f"{self._device!r}>"
        )

    def __reduce__(self) -> Any:
        """Reject copies and pickles: a session owns one thread and one device."""
        raise InputTypeError(
            "a HapticSession can be neither copied nor pickled: make another, of a device of its "
            "own, with the same contacts, coupling and a clone() of each simulation"
        )

    @property
    def contacts(self) -> tuple[PenaltyContact, ...]:
        """Contacts as given; the session evaluates copies of them."""
        return self._contacts

    @property
    def device(self) -> Device:
        """Device that the hand holds."""
        return self._device

    @property
    def rate(self) -> float:
        """Cycles per second [Hz]."""
        return self._rate

    @property
    def dt(self) -> float:
        """Length of a cycle [s]."""
        return self._dt

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
        self.close()
        if kind is None:
            self._raise_failure()

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
            is a fork of the one that made it.
        FileFormatError
            The file for the records cannot be written.
        """
        self._refuse_a_fork()
        with self._life:
            self._refuse_a_run()
            self._start()

    def _start(self) -> None:
        began = self._file is not None and self._file.descriptor < 0 and not self._closed
        before = self._core.status()
        try:
            if self._file is not None and began:
                self._file.begin()
                self._written, self._lost = before["written"], before["unrecorded"]
            self._core.start(-1 if self._file is None else self._file.descriptor)
        except BaseException:
            # a signal handler may have raised after the thread began
            if not _is_active(before) and _is_active(self._core.status()):
                self._restored = False
                with contextlib.suppress(FileFormatError):
                    self.stop()
            # keep the file of a session that is already running
            elif self._file is not None and began:
                self._file.drop()
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
        up to then are in `records`.

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
            times its length (`ImplicitNewmark.step`). The records up to then are in `records`.
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
        if (cycles is None) == (seconds is None):
            raise InputError("run takes either cycles or seconds")
        if seconds is None:
            total = count(cycles, "cycles")
        else:
            wanted = number(seconds, "seconds")
            if not wanted > 0.0:
                raise InputError(f"seconds must be positive, got {wanted:g}")
            total = count(max(1, math.ceil(wanted * self._rate - 1e-9)), "seconds * rate")
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
                        self._file.begin()
                        self._file.drop()
                with self._reading:
                    self._fetch(self._kept)
                return self._make(total, tell)
        finally:
            if mine:
                self._making = False

    def _make(self, total: int, tell: Callable[[int, int], object] | None) -> HapticRecords:
        made: list[bytes] = []
        whole = False
        try:
            done, reported = 0, time.monotonic()
            while done < total:
                # the ring holds at least 64 records; signals are handled between batches
                n = min(total - done, 64)
                try:
                    self._core.advance(n)
                finally:
                    self._fetch(made)
                done += n
                if self._stopping:
                    self._core.stop()  # the device may have been opened again
                    raise InputError(
                        f"the session was stopped when {done} of {total} cycles were made"
                    )
                now = time.monotonic()
                if tell is not None and (now >= reported + 0.05 or done == total):
                    reported = now
                    tell(done, total)
            whole = True
        finally:
            array = np.frombuffer(bytearray().join(made), RECORD)
            try:
                if self._file is not None:
                    with self._life:
                        self._file.begin()
                        self._file.append(array)
            except BaseException:
                whole = False
                raise
            finally:
                if not whole:
                    with self._reading:
                        self._kept.extend(made)
        return HapticRecords(array)

    def _refuse_a_run(self) -> None:
        if self._making:
            raise InputError(
                "`run` makes cycles of the session, in another thread or around this call: wait "
                "until it returns, or stop the session"
            )

    def _refuse_a_fork(self) -> None:
        if os.getpid() != self._owner:
            raise InputError("the session belongs to the process that made it")

    def _fetch(self, into: list[bytes]) -> None:
        # one call: no signal handler can run between taking and storing a record
        into.extend(iter(functools.partial(self._core.records, 4096), b""))

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
        if self._core.status()["phase"] == "ready":
            if self._closed:
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

        Does nothing in a fork of the process that made the session.

        Raises
        ------
        FileFormatError
            Not all records could be written. On a full disk the file has the first records,
            `records` the last ones. If the disk does not respond, the message names the file with
            the written records, and the next `stop` or `close` waits again. If the file lagged by
            more than `keep_records`, the message gives the number of lost cycles.
        """
        if os.getpid() == self._owner:
            self._end(self._core.stop)

    def _end(self, end: Callable[[], None]) -> None:
        self._stopping = True
        with self._life:
            end()
            try:
                self._finish_file()
            finally:
                self._restore()

    def _restore(self) -> None:
        # a stuck thread still uses its state
        if self._restored or not self._core.wait(0.0):
            return
        self._restored = True
        for k, simulation in enumerate((*self._simulations, self._field_simulation)):
            if simulation is not None:
                index = -1 if k == len(self._simulations) else k
                self._core.restore(index, simulation._core)

    def close(self) -> None:
        """Stop permanently, and free the device for another session.

        Sessions are also closed when they are garbage collected and at interpreter exit.

        Raises
        ------
        FileFormatError
            As `stop`.
        """
        self._closed = True
        if os.getpid() != self._owner:
            return
        try:
            self._end(self._core.close)
        finally:
            # a stuck thread or file is tried again at exit
            if self._file is None or self._file.descriptor < 0:
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
        # in a fork the thread that holds the lock does not exist
        with contextlib.ExitStack() as alone:
            if os.getpid() == self._owner:
                alone.enter_context(self._reading)
            if not self._making:
                self._fetch(self._kept)
            # signal handlers run at calls: none can run between these two
            kept, self._kept = self._kept, [] if only_once else self._kept
            if not only_once:
                kept = [b"".join(kept)[-self._keep_records * RECORD.itemsize :]]
                self._kept = kept.copy()
        return HapticRecords(np.frombuffer(bytearray().join(kept), RECORD))

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
    def coupling(self) -> VirtualCoupling | DynamicCoupling:
        """Coupling of object and hand; it may be replaced while the session runs.

        With `max_depth` and no `reach` given, it has the reach of the held object.
        """
        return self._coupling

    @coupling.setter
    def coupling(self, coupling: VirtualCoupling | DynamicCoupling) -> None:
        if not isinstance(coupling, VirtualCoupling | DynamicCoupling):
            raise InputTypeError(
                "coupling must be a VirtualCoupling or a DynamicCoupling, got "
                f"{type(coupling).__name__}"
            )
        # a given reach, or that of the held object
        known = coupling._reaching(self._contacts[0])
        self._command(2, 0.0, *_split(known, self._dt))
        self._coupling = known

    def _command(self, kind: int, value: float, static: Any = None, dynamics: Any = None) -> None:
        self._refuse_a_fork()
        if self._closed:
            raise InputError("the session is closed: make another one")
        status = self._core.status()
        if status["phase"] == "failed":
            raise InputError(f"the session has failed: {status['failure']}")
        if not self._core.command(kind, value, self._dt, static, dynamics):
            raise InputError(
                "64 commands wait already: the session must run for them to be carried out"
            )

    def report(self) -> HapticReport:
        """Return statistics of the session so far.

        Returns
        -------
        HapticReport
        """
        status = self._core.status()
        times = self._core.times(list(_SHARES.values()))
        named = [dict(zip(_SHARES, row.tolist(), strict=True)) for row in times]
        return HapticReport(
            phase=status["phase"],
            failure=status["failure"],
            device=self._core.device()[0],
            ticks=status["ticks"],
            rate=self._rate,
            over=status["over"],
            interrupted=status["interrupted"],
            skipped=status["skipped"],
            unrecorded=status["unrecorded"],
            compute_us=named[0],
            processor_us=named[1],
            late_us=named[2],
            contact_us=named[3],
            depth=status["depth"],
            max_depth=self._coupling.max_depth,
            too_deep=status["too_deep"],
            shortened=status["shortened"],
            paused=status["paused"],
            energy=status["energy"],
            most_energy=status["most_energy"],
            touching=status["touching"],
            saturated=status["saturated"],
            force=status["force"],
            chatter=status["chatter"],
            advice=self._advice(status),
            priority=status["priority"],
            locked=status["locked"],
            not_allowed=status["not_allowed"],
        )

    def _advice(self, status: dict[str, Any]) -> tuple[str, ...]:
        """Return sentences that suggest changes of the settings."""
        found = []
        suited = _core.suited_stiffness(self._coupling.stiffness)
        better = 'stiffness="auto"' if self._suited else "20 times that of the coupling"
        given = [c.stiffness for c in self._contacts if not isinstance(c.stiffness, str)]
        if status["saturated"] > _OFTEN * status["touching"]:
            found.append(
                "the coupling saturates or is relieved: raise its max_force to twice the force of "
                f"the device or more, and max_depth to 4 F / {suited:g} N/m of the largest force F"
            )
        if (
            given
            and max(given) > _STIFFER * suited
            and status["chatter"] > _SHAKES * status["force"]
        ):
            found.append(
                f"contact of {max(given):g} N/m a point is stiffer than the coupling needs: "
                f"{better} is {suited:g} N/m"
            )
        if status["shortened"] > _OFTEN * status["ticks"]:
            found.append(
                f"in {count_text(status['shortened'], 'cycle')} the period was too long for the "
                "motion of a body, whose force is then not right: use coupled=True, a higher rate, "
                "more damping or a heavier body"
            )
        if given and min(given) < suited / _STIFFER:
            found.append(
                f"contact of {min(given):g} N/m a point is soft for the coupling, bodies feel "
                f"softer than they are: {better} is {suited:g} N/m"
            )
        return tuple(found)

    def _raise_failure(self) -> None:
        status = self._core.status()
        if status["phase"] == "failed":
            raise DeviceError(status["failure"])

    def _finish_file(self) -> None:
        if self._file is None or self._file.descriptor < 0:
            return
        status = self._core.status()
        n = status["written"] - self._written
        if not self._core.wait(0.0):
            # the thread is stuck in a cycle and may still write
            self._file.announce(n)
            return
        if status["writing"]:
            raise FileFormatError(
                f"{str(self._record_path)!r} has taken no record for {_PATIENCE:g} s: {n} of them "
                f"are in {str(self._file.part or self._record_path)!r}; stop or close the session "
                "again to wait for the others"
            )
        try:
            self._file.finish(n)
        except FileFormatError as error:
            kept = f"; {n} records are in {str(self._file.part)!r}" if self._file.part else ""
            raise FileFormatError(f"{error}{kept}") from None
        if status["file_error"]:
            raise FileFormatError(
                f"only {n} records could be written to {str(self._record_path)!r}: "
                f"{os.strerror(status['file_error'])}"
            )
        lost = status["unrecorded"] - self._lost
        if lost:
            raise FileFormatError(
                f"{str(self._record_path)!r} has gaps: {lost} cycles found no room in "
                f"keep_records={self._keep_records} while it took no records"
            )


def _is_active(status: dict[str, Any]) -> bool:
    return status["phase"] == "running" or bool(status["writing"])


def _split(
    coupling: VirtualCoupling | DynamicCoupling, dt: float
) -> tuple[dict[str, float], dict[str, float] | None]:
    if isinstance(coupling, DynamicCoupling):
        return coupling._core_settings(dt)
    return coupling._core_settings(dt), None
