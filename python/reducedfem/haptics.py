"""Haptic sessions: contact, virtual coupling and deformation at 1 kHz, in a thread of C."""

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
from reducedfem._atomic import as_path
from reducedfem._check import choice, count, flag, integer, limit, number
from reducedfem._console import count_text
from reducedfem._plausible import warn_of_reach
from reducedfem._record_file import RECORD, RecordFile
from reducedfem._run import Progress, callback
from reducedfem._session_parts import check_parts, lengths, sequence, warn_of_rest
from reducedfem.contact import PenaltyContact
from reducedfem.coupling import DynamicCoupling, VirtualCoupling
from reducedfem.devices import Device
from reducedfem.errors import DeviceError, FileFormatError, InputError, InputTypeError
from reducedfem.haptic_records import HapticRecords
from reducedfem.haptic_report import HapticReport, HapticSnapshot
from reducedfem.integrator import ImplicitNewmark
from reducedfem.workspace import Workspace

__all__ = ["HapticSession"]

# s without a cycle after which the device is halted, without progress after which a file is given
# up, and longer than the first, without a cycle after which a thread that is to end is
_STALL = 0.05
_PATIENCE = 5.0
_HANG = 2.0
# of the passivity controller's damper, N s/m and N m s: what a 1 kHz loop renders stably with a
# hand of 0.1 kg
_MOST_DAMPING = 20.0
_MOST_TORSIONAL_DAMPING = 0.02
# what the report advises on: parts of the cycles with contact, of the force that chatters, and of
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
    """Contact, virtual coupling and deformation, cycle by cycle, against a device.

    A cycle reads the device, searches contact at the pose of the simulation object, moves that
    by the virtual coupling, writes the coupling's force to the device and steps the deformable
    objects (Barbic 2007, figure 4.2). `start`, or a ``with`` block, runs it in a thread of C,
    once a period, which never waits for Python; `run` makes cycles one after the other in
    this thread, by the same code.

    Sessions have copies of contacts and simulations of their own, in the state in which those
    are when the session is made; when it is stopped, the simulations get the state of the
    copies.

    Parameters
    ----------
    contact
        Between the object that is held, the one with the distance field, and another one, the
        shell; or several, with the same `field` and grasp point.
    device
        The device that the hand holds.
    coupling
        Coupling of the simulation object to it. If it has a `max_depth`, and its `reach` is None,
        it gets that of the object with the field.
    simulation
        Of the shell, of the model under its `PointTree`, with steps that divide the period; its
        gravity acts here too. Of several contacts a sequence, one each. None, for a shell that
        stays at rest: in a sequence where that deforms, as ``[None]``.
    field_simulation
        Of the object that is held, of the model of its field, where that is a `DeformedField`.
    workspace
        From the device's frame to the world; None: they are the same.
    rate
        Cycles a second [Hz].
    budget_us
        Computing time of a cycle [us], in place of the limits of the contacts (`warm_nodes`,
        `budget_us`): contact stops descending when it would take longer. None: half a period, and a
        whole one at most; 0: contacts keep their own limits.
    coupled
        Solve for the object's motion and the steps of all that deforms together: the system of
        6 + r unknowns that Barbic 2007 leaves for later (end of section 4.2), with the coordinates
        of every shell and of the object itself, whatever number of steps make a period. Otherwise,
        as there, the object moves against shells that stand still, which then step under the forces
        of before that motion: explicit ones, under which contact oscillates where it is stiff for
        the mass that is hit and for the rate (``experiments/b07_4_2_coupled.py`` compares both).
        There is no difference if nothing deforms.
        Forces are linear within a cycle: an object that leaves contact in it pulls the shell along
        until its end. Cycles in which a body's own stiffness makes the matrix indefinite are split:
        see `HapticRecords.flagged`.
    auto_stiffness
        Stiffness of contacts with ``stiffness="auto"``: "coupling", 20 times that of the coupling,
        also of one that replaces it later; or "contact", that of each point outside of sessions,
        `PenaltyContact.stiffnesses`. Forces and gradients of a contact are then the same in a
        session as elsewhere.
    max_force, max_torque
        To the device [N], [N m]; None: what that can render.
    force_slew, torque_slew
        Fastest change of them [N/s], [N m/s]; None: any, up to what `max_force` and `max_torque`
        bound. A limit keeps jumps from a hand, and delays every force that is faster: that gives
        energy, see below. What `passivity` takes away, and its damper, change at once; what it
        gives back comes as slowly as all else.
    ramp
        Time in which forces fade in and out [s]; 0: at once. They also fade in from zero, over
        0.05 s where `ramp` is shorter, when another client takes over a `UdpDevice`, after
        `silence`, and after a pause, in which no force went out for 0.05 s (ten periods if that is
        longer): the process was stopped or the machine suspended. See ``"paused"`` of
        `HapticRecords.flagged`; a `run` makes cycles at any pace and has no pauses.
    silence
        Time without a new sample of the device after which there is no force [s]; None: 0.01 s
        for a `UdpDevice`, 0.05 s for others.
    passivity
        True: a controller keeps the energy that is given to the hand within an allowance; it
        is observed in any case. It fades forces out before they have given too much, by
        velocities of the last cycle, and damps where that was not enough. See below. It comes
        after `force_slew` and `torque_slew`: a force that one of them keeps up may give no more
        than any other.
    energy_allowance
        Of that controller [J].
    render
        Force that the hand feels from a saturated coupling: "linear", k e, up to the limits of the
        device, as Barbic has it (end of section 4.9), or "saturated", the opposite of what acts
        on the object. The first can be much larger. See below.
    duration
        After which forces fade out and the session ends [s]; None: that of the device, if it
        has one. To fade out takes as long as they have faded in, up to `ramp`, and is added.
    record
        A file for a record of each cycle, ``.npy``; it appears when the session is stopped, or
        `run` returns, and one that was there is replaced then. Started or run again, the session
        goes on at its end, or in a new one where that was moved away. None: `records` gives the
        last ones.
    keep_records
        Number of last cycles that `records` returns, or that a file may lag behind.
    priority
        Real-time priority of the thread (SCHED_FIFO), 1 to 98; 0: none. The one that watches it,
        and halts the device when it hangs, runs one above. Where the system refuses it the report
        says so.
    lock_memory
        True: keep the memory of the process from being swapped, if allowed.

    Raises
    ------
    InputError, InputTypeError
        An argument has a wrong type or a value that is not allowed; the device belongs to
        another session; a simulation displaces its body by more than 30 times its length.

    Notes
    -----
    A hand may get more energy than it gave (`HapticReport.energy` above zero) for three reasons.

    A force is held for a period T. A hand that moves at v in a wall feels it T / 2 late, and
    gets k v^2 T / 2 for each second in it, k the stiffness of coupling and wall in series; with
    static damping a the object lags, which takes a / (1 - a) k_VC^2 / (k_VC + K) v^2 T, much
    where contact (K) is soft, nothing in a stiff wall. Of hand and device a damping of k T / 2 is
    needed to stay at rest: rates and dampers allow stiff walls, not the coupling.

    And with ``render="linear"`` a coupling that saturates at f renders k e, which is more. Where
    an object at rest does not give way this adds nothing, but what moves, because the shell
    swings back, does the work of k e on the hand and loses that of f. This is as large at any
    rate: a hose of 5 N/m on a spoon of rubber, saturated at 15 mN, gave back 0.57 N and 1.5 mJ at
    1 kHz, 4.2 mJ at 8 kHz. Contact that is stiff enough not to saturate, ``render="saturated"``, or
    ``passivity`` prevents it.

    And a `force_slew` below what contact needs, stiffness times speed, holds forces up when the
    hand is already on its way out. A hand of 0.1 kg that knocks on a floor at up to 0.3 m/s, by a
    coupling of 2000 N/m, needs 420 N/s and loses 29 mJ in four seconds; with 200 N/s it gets
    4 mJ, with 100 N/s 590 mJ. So by default there is no such limit: what protects a hand from
    jumps is the device's own limit of forces, `ramp`, and `silence`. Where one is set, well above
    stiffness times speed, or with ``passivity``.
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
        "_life",
        "_lost",
        "_making",
        "_owner",
        "_rate",
        "_reading",
        "_record_path",
        "_restored",
        "_simulations",
        "_sizes",
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
        self._sizes = [0 if s is None else len(s.state.q) for s in (*simulations, field_simulation)]
        self._record_path = None if record is None else as_path(record, "record")
        self._file = None if self._record_path is None else RecordFile(self._record_path)
        self._written = self._lost = 0
        self._keep_records = count(keep_records, "keep_records", 1 << 24)
        self._kept: list[bytes] = []
        self._owner = os.getpid()
        self._life = threading.RLock()  # whose thread begins or ends it, file and all
        self._reading = threading.RLock()  # whose thread takes records out, in their order
        self._making = self._stopping = False  # cycles in `run`; it is to end
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
        self._closed = False
        _live.add(self)

    def __del__(self) -> None:
        # an unreferenced session is closed, unless its constructor failed
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
        """Refuse copies and pickles: there is one thread, and one device."""
        raise InputTypeError(
            "a HapticSession can be neither copied nor pickled: make another, of a device of its "
            "own, with the same contacts, coupling and a clone() of each simulation"
        )

    @property
    def contacts(self) -> tuple[PenaltyContact, ...]:
        """The contacts that it was made of; those that it runs are copies."""
        return self._contacts

    @property
    def device(self) -> Device:
        """The device that the hand holds."""
        return self._device

    @property
    def rate(self) -> float:
        """Cycles a second [Hz]."""
        return self._rate

    @property
    def dt(self) -> float:
        """Length of a cycle [s]."""
        return self._dt

    def __enter__(self) -> HapticSession:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it; what failed in it is raised unless something else is on its way."""
        self.close()
        if kind is None:
            self._raise_failure()

    def start(self) -> None:
        """Open the device and begin; again after `stop` it goes on where it was.

        The object, and what deforms, are then where they were left, and the hand takes the object
        up wherever it has gone in between, as after a clutch: nothing pulls the two together, and
        the workspace has moved by as much. `recentre` puts it where it began.

        Raises
        ------
        DeviceError
            The device cannot be opened.
        InputError
            The session is running, closed, or has failed; `run` makes its cycles; it belongs to
            another process, which was forked.
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
            # the handler of a signal may have raised when it had begun
            if not _goes_on(before) and _goes_on(self._core.status()):
                self._restored = False
                with contextlib.suppress(FileFormatError):
                    self.stop()
            # not that of a session that runs already
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
        """Make cycles one after the other, without waiting, and return their records.

        Ctrl-C ends it between two cycles; `records` has all that were made until then, and none of
        them before. It is for scripts and tests: a device goes on rendering the last force when
        `run` returns, and nobody watches it. A hand is for `start`.

        Parameters
        ----------
        cycles
            Number of cycles.
        seconds
            Time of the session that they cover [s], in place of `cycles`.
        progress
            True: a progress bar; a callable: called as ``f(done, total)`` now and then.

        Returns
        -------
        HapticRecords

        Raises
        ------
        DeviceError, DivergedError
            The device or the simulation failed, the latter also where a body would be displaced by
            more than 30 times its length (`ImplicitNewmark.step`); the records up to then are in
            `records`.
        FileFormatError
            The file for the records cannot be written: told before the first cycle or, of a disk
            that is full, after the last one; then they are in `records`.
        InputError, InputTypeError
            `cycles` and `seconds` are both given, or none of them is; one of them or `progress` has
            a value that is not allowed. The session is running in its thread or in another `run`,
            is closed, has failed or belongs to another process, which was forked. It was stopped
            or closed meanwhile: the records up to then are in `records`.
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
                    self._core.advance(0)  # refuses what is no time for cycles
                    self._stopping, self._restored = False, False
                    self._making = mine = True
                    self._finish_file()  # of a thread that has ended by itself
                    if self._file is not None:  # what cannot be written is told before
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
            done, told = 0, time.monotonic()
            while done < total:
                # the ring holds at least 64, and signals are looked at in between
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
                if tell is not None and (now >= told + 0.05 or done == total):
                    told = now
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
        # one call: no signal comes between taking records out and keeping them
        into.extend(iter(functools.partial(self._core.records, 4096), b""))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the session has ended by itself.

        Parameters
        ----------
        timeout
            The longest time to wait [s]; None: any.

        Returns
        -------
        bool
            True if it has ended; also if it was stopped or closed.

        Raises
        ------
        InputError, InputTypeError
            `timeout` is no finite number; the session was never started, or belongs to another
            process, which was forked.
        """
        self._refuse_a_fork()
        if self._core.status()["phase"] == "ready":
            if self._closed:
                raise InputError("the session is closed: it was never started")
            raise InputError("the session was not started: use it in a with block, or call start")
        until = math.inf if timeout is None else time.monotonic() + number(timeout, "timeout")
        # poll: other threads may use the session meanwhile
        while not self._core.wait(0.0):
            if time.monotonic() >= until:
                return False
            time.sleep(0.005)
        return True

    def stop(self) -> None:
        """Fade the forces out, end the thread, close the device; fine at any time.

        In a forked copy of the process it does nothing.

        Raises
        ------
        FileFormatError
            Not all records could be written to the file. On a full disk, say, the file has those
            of before, `records` the last ones. Of a disk that does not answer the message tells
            where what was written is; the next `stop` or `close` waits for the rest again. Where
            a file could not follow for longer than `keep_records`, it has all but the cycles that
            the message counts.
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
        # of a thread that is stuck nothing can be had
        if self._restored or not self._core.wait(0.0):
            return
        self._restored = True
        for k, simulation in enumerate((*self._simulations, self._field_simulation)):
            if simulation is not None:
                index = -1 if k == len(self._simulations) else k
                self._core.restore(index, simulation._core)

    def close(self) -> None:
        """As `stop`, for good: the device is free for another session.

        A session that is dropped, or left when the interpreter ends, is closed as well.

        Raises
        ------
        FileFormatError
            As of `stop`.
        """
        self._closed = True
        if os.getpid() != self._owner:
            return
        try:
            self._end(self._core.close)
        finally:
            # of a thread or a file that is stuck there may be more at the end
            if self._file is None or self._file.descriptor < 0:
                _live.discard(self)

    def snapshot(self) -> HapticSnapshot:
        """Return the newest state, without disturbing the loop.

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
        return HapticSnapshot(*newest, self._sizes)

    def records(self, *, drain: bool = False) -> HapticRecords:
        """Return the records of the last cycles, as many as `keep_records`.

        While a file takes them, there are none here; those of a `run` are what that returns. Any
        thread may call it.

        Parameters
        ----------
        drain
            Return only those since the last call that drained, and keep none of them: called
            often enough, such calls return each record once, however long a session lasts.

        Returns
        -------
        HapticRecords

        Raises
        ------
        InputTypeError
            `drain` is no bool.
        """
        only_once = flag(drain, "drain")
        # of a fork the other threads are not there to let go of it
        with contextlib.ExitStack() as alone:
            if os.getpid() == self._owner:
                alone.enter_context(self._reading)
            if not self._making:
                self._fetch(self._kept)
            # nothing comes between these two: handlers of signals run at calls
            kept, self._kept = self._kept, [] if only_once else self._kept
            if not only_once:
                kept = [b"".join(kept)[-self._keep_records * RECORD.itemsize :]]
                self._kept = kept.copy()
        return HapticRecords(np.frombuffer(bytearray().join(kept), RECORD))

    def enable(self, forces: bool = True) -> None:
        """Fade forces in, or out.

        Parameters
        ----------
        forces
            True: render forces.

        Raises
        ------
        InputError, InputTypeError
            Too many commands wait, the session is closed, has failed or belongs to another
            process, which was forked; `forces` is no bool.
        """
        self._command(0, 1.0 if flag(forces, "forces") else 0.0)

    def recentre(self) -> None:
        """Put manipulandum and simulation object where the workspace begins.

        Raises
        ------
        InputError
            Too many commands wait, the session is closed, has failed or belongs to another
            process, which was forked.
        """
        self._command(1, 0.0)

    @property
    def coupling(self) -> VirtualCoupling | DynamicCoupling:
        """The coupling; it may be replaced while the session runs.

        With a `max_depth` and no `reach` of its own, it has the reach that was found.
        """
        return self._coupling

    @coupling.setter
    def coupling(self, coupling: VirtualCoupling | DynamicCoupling) -> None:
        if not isinstance(coupling, VirtualCoupling | DynamicCoupling):
            raise InputTypeError(
                "coupling must be a VirtualCoupling or a DynamicCoupling, got "
                f"{type(coupling).__name__}"
            )
        # what an object reaches that the last coupling was told or found
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
        """Return what the session has done so far.

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
        """Return sentences on what to change."""
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
            # a cycle is stuck, and more may come
            self._file.tell(n)
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


def _goes_on(status: dict[str, Any]) -> bool:
    return status["phase"] == "running" or bool(status["writing"])


def _split(
    coupling: VirtualCoupling | DynamicCoupling, dt: float
) -> tuple[dict[str, float], dict[str, float] | None]:
    if isinstance(coupling, DynamicCoupling):
        return coupling._core_settings(dt)
    return coupling._core_settings(dt), None
