"""The haptic thread as the system sees it: it allocates, locks and waits for nothing.

That the real-time sources call nothing of the kind is proven on their object files
(tests/house/test_rt_symbols.py); here a running session is watched, by what stands before the C
library and by the kernel.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import textwrap

import pytest

from places import ROOT

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
    pytest.mark.skipif("RF_SANITIZED" in os.environ, reason="the sanitizers wrap the same calls"),
]

SESSION = """
import ctypes, os, sys, time
import numpy as np
import reducedfem as rf

x = np.linspace(-0.1, 0.1, 61)
points = np.stack(np.meshgrid(x, x, [0.0]), axis=-1).reshape(-1, 3)
shell = rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1)))
field = rf.SphereField((0, 0, 0), 0.02)
contact = rf.PenaltyContact(rf.PointTree(shell), field, 200.0)
times = np.linspace(0.0, 4.0, 81)
hand = rf.SimulatedHand(times, np.stack([0 * times, 0 * times, 0.02 + 0.01 * np.cos(6 * times)], 1))
coupling = rf.VirtualCoupling(500.0, 1.0)
rf.haptics.settings.set_timeouts(stall=5.0)  # on any machine
made = rf.HapticSession(contact, hand, coupling=coupling, record=sys.argv[1])
made.start()
while made.report().ticks < 100:
    assert made.report().phase == "running", str(made.report())
    time.sleep(0.01)

def thread(name):
    for tid in os.listdir("/proc/self/task"):
        if open(f"/proc/self/task/{tid}/comm").read().strip() == name:
            return tid

def status(tid, name):
    for line in open(f"/proc/self/task/{tid}/status"):
        if line.startswith(name):
            return int(line.split()[1])

def faults(tid):
    return int(open(f"/proc/self/task/{tid}/stat").read().rpartition(")")[2].split()[7])

tid = thread("rf-haptic")
"""


def run(code, tmp_path, **environment):
    done = subprocess.run(
        [sys.executable, "-c", SESSION + textwrap.dedent(code), str(tmp_path / "record.npy")],
        capture_output=True, text=True, check=False, env=os.environ | environment, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


def test_a_cycle_waits_once_and_has_no_page_faults(tmp_path):
    cycles, waits, faults = run(
        """
        def now():
            return np.array([made.report().ticks, status(tid, "voluntary_ctxt"), faults(tid)])

        # the system may move a page now and then, or let time go by between two looks: what a
        # cycle does it does in every window
        for _ in range(40):
            before = now()
            while (after := now())[0] < before[0] + 250:
                time.sleep(0.05)
            cycles, waits, faults = after - before
            if waits <= cycles + 2 and faults == 0:
                break
        for number in (cycles, waits, faults):
            print(number)
        made.close()
        """,
        tmp_path,
    )
    # it sleeps until the next cycle and never else
    assert cycles >= 250
    assert waits <= cycles + 2
    assert faults == 0


@pytest.fixture(scope="module")
def interpose(tmp_path_factory):
    """Return the library that is loaded before all else, or skip."""
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(compiler[0]):
        pytest.skip(f"no C compiler on this machine ({compiler[0]})")
    library = tmp_path_factory.mktemp("interpose") / "interpose.so"
    done = subprocess.run(
        [*compiler, "-O1", "-shared", "-fPIC", str(ROOT / "tests/support/interpose.c"),
         "-o", str(library), "-ldl"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"the C library is another one: {done.stderr[:200]}")
    return str(library)


def test_a_cycle_calls_nothing_that_allocates_locks_reads_or_writes(tmp_path, interpose):
    cycles, calls, writer, own = run(
        """
        count = ctypes.CDLL(None).interposed_count
        count.restype = ctypes.c_long
        both = [int(tid), int(thread("rf-writer")), os.getpid()]
        before = [made.report().ticks, *map(count, both)]
        while made.report().ticks < before[0] + 250 or count(both[1]) == before[2]:
            time.sleep(0.05)
        after = [made.report().ticks, *map(count, both)]
        for k in range(4):
            print(after[k] - before[k])
        made.close()
        """,
        tmp_path,
        LD_PRELOAD=interpose,
    )
    assert cycles > 200
    assert calls == 0
    # the instrument counts: the writer writes the records, Python allocates
    assert writer > 0
    assert own > 0


# Each session in a process of its own, which ends while its haptic thread is still watched.
EVERY_KIND = """
import ctypes, os, sys, threading
import numpy as np
import reducedfem as rf
from reducedfem.udp_client import UdpClient
sys.path.insert(0, sys.argv[1])
from moments import free_port
from shapes import box_hexes

rf.haptics.settings.set_timeouts(stall=5.0)  # on any machine
mesh = rf.Mesh(*box_hexes(6, 2, 2, (0.2, 0.03, 0.03)))
solid = rf.Solid(mesh, rf.StVK(1e6, 0.4, 1000.0), fixed=mesh.nodes[:, 0] < 1e-9)
model = rf.reduce(solid, rf.modal_derivative_basis(solid, k=3, r=5))
x, y = np.linspace(0.01, 0.2, 40), np.linspace(0.0, 0.03, 8)
points = np.stack(np.meshgrid(x, y, [0.03], indexing="ij"), axis=-1).reshape(-1, 3)
shell = rf.Pointshell(points, np.tile([0.0, 0.0, -1.0], (len(points), 1)))
rigid = rf.PointTree(shell)
bends = rf.PointTree(shell, model, rf.Embedding(mesh, points))
ball = rf.SphereField((0, 0, 0), 0.02)
soft_ball = rf.DeformedField(rf.SphereField((0.18, 0.015, 0.015), 0.02), model, 8)
times = np.linspace(0.0, 60.0, 1201)
z = 0.048 + 0.004 * np.cos(12 * times)  # in and out of contact

def hand(x=0.18, y=0.015, z=z):
    return rf.SimulatedHand(times, np.stack([x + 0 * times, y + 0 * times, z], 1))

def press(tree):
    return rf.PenaltyContact(tree, ball, 200.0, None)

def bend():
    return rf.ImplicitNewmark(model, 1e-3, damping=(1.0, 1e-3))

def session(contact, device, coupling=None, **options):
    coupling = coupling or rf.VirtualCoupling(300.0, 0.5)
    return rf.HapticSession(contact, device, coupling=coupling, silence=10.0, **options)

def udp():
    at = ("127.0.0.1", free_port())
    device = rf.UdpDevice(at, wait=100.0)
    def move():
        with UdpClient(at) as client:
            for k in range(1000000):
                client.exchange((0.18, 0.015, z[k % len(z)]))
                threading.Event().wait(0.002)
    threading.Thread(target=move, daemon=True).start()
    return device

KINDS = {
    "rigid": lambda: session(press(rigid), hand()),
    "deformable": lambda: session(press(bends), hand(), simulation=bend()),
    "deformed field": lambda: session(
        rf.PenaltyContact(rigid, soft_ball, 200.0, None),
        hand(0.0, 0.0, z - 0.015), field_simulation=bend(),
    ),
    "coupled": lambda: session(press(bends), hand(), simulation=bend(), coupled=True),
    "dynamic": lambda: session(
        press(bends), hand(), rf.DynamicCoupling(300.0, 0.5, 0.02, 1e-5), simulation=bend()
    ),
    "passive": lambda: session(press(rigid), hand(), passivity=True),
    "udp": lambda: session(press(rigid), udp()),
    "udp, sockets refused": lambda: session(press(rigid), udp()),
}

def watch(kind):
    library = ctypes.CDLL(None)
    library.interposed_refused.restype = ctypes.c_long
    made = KINDS[kind]()
    made.start()
    library.interposed_watch(kind == "udp")
    while (watched := library.interposed_watched()) == 1:
        assert made.report().phase == "running", str(made.report())
        threading.Event().wait(0.005)
    first, touched = made.report().ticks, 0
    while made.report().ticks < first + 300 or (not touched and "refused" not in kind):
        assert made.report().phase == "running", str(made.report())
        assert made.report().ticks < first + 30000, "it does not touch"
        touched = max(touched, made.snapshot().record["touching"])
        threading.Event().wait(0.005)
    refused = [n for n in range(1024) if library.interposed_refused(n)]
    print(kind, watched, *refused, sep=";", flush=True)

for kind in KINDS:
    child = os.fork()
    if child == 0:
        try:
            watch(kind)
        except BaseException as error:
            print(kind, repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, kind
"""


def test_a_cycle_makes_system_calls_for_sleep_clock_and_device_only(interpose):
    """Every kind of session, in contact: the kernel would refuse any other call."""
    done = subprocess.run(
        [sys.executable, "-c", EVERY_KIND, str(ROOT / "tests/support")],
        capture_output=True, text=True, check=False, env=os.environ | {"LD_PRELOAD": interpose},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    refused = {}
    for line in done.stdout.splitlines():
        kind, watched, *numbers = line.split(";")
        if watched != "0":
            pytest.skip(f"no filter of system calls here: {os.strerror(-int(watched))}")
        refused[kind] = numbers
    # the instrument sees: the one session whose device may not read
    assert refused.pop("udp, sockets refused") != []
    assert len(refused) == 7
    assert refused == {kind: [] for kind in refused}


AS_THE_SYSTEM_SEES_IT = """
def line(name):
    return next(x for x in open("/proc/self/status") if x.startswith(name)).split()[1]

report = made.report()
numbers = [report.priority, report.locked, bool(report.not_allowed), int(line("VmLck:")) > 0]
for name in ("rf-haptic", "rf-watchdog"):
    task = int(thread(name))
    numbers.append(os.sched_getscheduler(task) == os.SCHED_FIFO)
    numbers.append(os.sched_getparam(task).sched_priority)
said = str(report)
made.close()
"""


def test_threads_have_priorities_and_memory_is_locked_if_allowed(tmp_path):
    """The watchdog is above the loop: it halts one that never sleeps on the only core, too."""
    code = AS_THE_SYSTEM_SEES_IT + "for number in numbers:\n    print(int(number))\n"
    priority, locked, refused, kilobytes, loop, loop_at, watchdog, watchdog_at = run(code, tmp_path)
    if refused:
        pytest.skip("this machine allows no real-time priority or no locked memory")
    assert (priority, loop, loop_at) == (1, 1, 80)
    assert (watchdog, watchdog_at) == (1, 81)
    assert (locked, kilobytes) == (1, 1)


def test_report_names_missing_privileges(tmp_path):
    """Without privileges a session still runs, and its report names those that are missing."""
    # none of the limits, and none of the capabilities of a superuser
    refuse = """
import os, resource
for what in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK):
    resource.setrlimit(what, (0, 0))
"""
    drop = """
x = np.linspace(-0.1, 0.1, 61)
if os.geteuid() == 0:
    os.setuid(65534)
"""
    code = """
for said_so in ("no real-time priority: ", "memory could not be locked: "):
    assert said_so in report.not_allowed, report.not_allowed
assert "watchdog" not in report.not_allowed
rows = [row.split() for row in said.splitlines()]
assert [x[-1] for x in rows if x[:2] in (["real-time", "priority"], ["locked", "memory"])] \
    == ["no", "no"], said
assert [x for x in rows if x[:1] == ["refused"]], said
assert report.phase == "running" and report.ticks > 0
for number in numbers:
    print(int(number))
"""
    # another user may write no files here
    without_file = SESSION.replace(", record=sys.argv[1]", "")
    session = refuse + without_file.replace("x = np.linspace(-0.1, 0.1, 61)\n", drop)
    assert drop in session
    done = subprocess.run(
        [sys.executable, "-c", session + AS_THE_SYSTEM_SEES_IT + code],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "0", "1", "0", "0", "0", "0", "0"]
