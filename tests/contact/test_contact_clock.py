"""Contact in a budget of time, by a clock of the test: the costs of all parts are given.

The traversal is that of the library, the world around it is `contact_world.c`: points are heights
over a plane, each node has as many children as the others, and only nodes, copies of nodes,
touching points and readings of the clock take time.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import numpy as np
import pytest

from ckernels import build, structure
from places import ROOT

SOURCES = (
    "base/alloc.c", "base/status.c", "contact/blocks_rt.c", "contact/budget_rt.c", "contact/law.c",
    "contact/contact.c",
    "contact/contact_rt.c", "contact/points_rt.c", "contact/search.c", "contact/search_rt.c",
    "contact/travel_rt.c", "contact/wrench.c", "contact/wrench_rt.c", "linalg/pose.c",
    *sorted(f"contact/{path.name}" for path in (ROOT / "csrc/contact").glob("*_law*.c")),
)  # fmt: skip
LAP = 64  # nodes between two readings of the clock
NEAR = 1e-11  # m, a height in no contact, and clear of it by less than rounding
DEEP = -1.0
N, BROOD, LEVELS = 200, 3, 4
REAL = ctypes.c_double


Result = structure(
    "rf_contact_result", force=REAL * 3, torque=REAL * 3, gradient=REAL * 36, depth=REAL,
    clearance=REAL, microseconds=REAL, visited=ctypes.c_int32, skipped=ctypes.c_int32,
    touching=ctypes.c_int32, level=ctypes.c_int32,
)  # fmt: skip


@dataclass(frozen=True)
class Costs:
    """Costs of nodes, touching points, clock readings and the part before the traversal [us]."""

    node: float = 0.05
    contact: float = 0.03
    look: float = 0.0
    start: float = 0.0

    @property
    def copy(self) -> float:
        """Return the cost of a node as estimated by the traversal."""
        return 0.25 * self.node

    def cycle(self, level: int, touching: int = 0) -> float:
        """Return the time of a cycle that visits every node, `touching` of them on level 0."""
        count = [N * BROOD**j for j in range(level + 1)]
        # nothing is left to do for a copy on the deepest level
        copies = sum(count[: min(level, LEVELS - 2)])
        return (
            count[level] * self.node + copies * self.copy + touching * BROOD**level * self.contact
        )


class World:
    """One contact, made anew by `begin`."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        n, ptr = ctypes.c_int32, ctypes.c_void_p
        for name, result, *arguments in (
            ("world_begin", ctypes.c_int, n, ptr, n, ptr, n, REAL, REAL, ctypes.c_int),
            ("world_end", None),
            ("world_costs", None, REAL, REAL, REAL, REAL, REAL),
            ("world_pause", None, ctypes.c_int64, REAL),
            ("world_cycle", ctypes.c_int, REAL, ptr),
            ("world_ask_clearance", None, ctypes.c_int),
            ("world_errors", None, REAL, REAL),
            ("world_margin", REAL),
            ("world_node_us", REAL),
            ("world_contact_us", REAL),
            ("world_refuses_law", ctypes.c_char_p, ctypes.c_char_p),
        ):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    def begin(self, heights, budget, *, radii=None, cold=1.0, coherence=False) -> None:
        heights = np.ascontiguousarray(heights, dtype=float)
        radii = np.full(LEVELS, 0.5) if radii is None else np.array(radii, dtype=float)
        assert len(heights) == N
        assert len(radii) == LEVELS
        assert self.library.world_begin(
            N, heights.ctypes.data, LEVELS, radii.ctypes.data, BROOD, budget, cold, coherence
        )
        self.costs = Costs()

    @property
    def costs(self) -> Costs:
        return self._costs

    @costs.setter
    def costs(self, costs: Costs) -> None:
        self._costs = costs
        self.library.world_costs(costs.node, costs.copy, costs.contact, costs.look, costs.start)

    def pause(self, after: int, us: float) -> None:
        self.library.world_pause(after, us)

    def cycle(self, height: float = 0.0) -> Result:
        out = Result()
        assert self.library.world_cycle(height, ctypes.byref(out)) == 0
        return out

    def cycles(self, n: int, height: float = 0.0) -> Result:
        for _ in range(n):
            out = self.cycle(height)
        return out

    @property
    def node_us(self) -> float:
        return self.library.world_node_us()

    @property
    def contact_us(self) -> float:
        return self.library.world_contact_us()


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    sources = [ROOT / "csrc" / name for name in SOURCES]
    sources.append(ROOT / "tests/support/contact_world.c")
    return build("world", sources, tmp_path_factory.mktemp("world"))


@pytest.fixture
def world(library):
    world = World(library)
    yield world
    library.world_end()


def mixed(touching: int = 40, near: int = 60, rest: float = 10.0) -> np.ndarray:
    heights = np.full(N, rest)
    heights[:touching], heights[touching : touching + near] = DEEP, NEAR
    return heights


def test_laws_are_found_by_name(world):
    world.begin(mixed(), 1e9)
    assert world.library.world_refuses_law(b"penalty") == b""
    assert world.library.world_refuses_law(b"glue") == b"there is no contact law named glue"


def test_copies_of_laws_have_memory_of_their_own(library):
    assert library.world_keeps_states()


@pytest.mark.parametrize("begins", [True, False])
def test_laws_keep_the_state_of_cycles_alone(world, begins):
    """Evaluations that are refused, queries and stateless contacts leave no trace in a law."""
    world.begin(mixed(touching=5, near=0), 1e9)
    world.library.world_count(begins)
    counts = (ctypes.c_int32 * 3)()

    def counted(height=0.0, all_of=-1, stateless=False):
        before = list(counts)
        status = world.library.world_counted(REAL(height), all_of, stateless, counts)
        return status, *np.subtract(counts, before)

    cycle = counted()
    touching = 5 * BROOD ** (LEVELS - 1)
    assert cycle == (0, begins, touching + 16, touching)
    assert counted(all_of=LEVELS - 1) == (0, 0, touching + 16, 0)
    assert counted(stateless=True) == (0, 0, touching + 16, 0)
    status, *traces = counted(height=np.nan)
    assert status < 0
    assert traces == [0, 0, 0]
    assert counted() == cycle


# ---- what is learned


@pytest.mark.parametrize("node", [0.004, 0.03, 0.1, 0.9])
def test_costs_are_estimated(world, node):
    """Both estimates start at 0.1 us; the time before the traversal is not attributed to nodes."""
    world.begin(mixed(), 1e9)
    world.costs = Costs(node=node, contact=3.0 * node, start=50.0 * node)
    world.cycles(150)
    assert world.node_us == pytest.approx(node, rel=1e-3)
    assert world.contact_us == pytest.approx(3.0 * node, rel=1e-3)


def test_the_cost_of_a_node_excludes_time_before_the_traversal(world):
    found = []
    for start in (0.0, 20.0):
        world.begin(mixed(), 1e9, coherence=True)
        world.costs = Costs(start=start)
        world.cycles(20)
        found.append(world.node_us)
    assert found[1] == pytest.approx(found[0], rel=1e-9)


def test_costs_include_readings_of_the_clock(world):
    world.begin(mixed(), 1e9)
    world.costs = Costs(node=0.03, look=0.02)
    world.cycles(150)
    # at least one look for so many nodes; copies are cheaper, some lists shorter
    assert 0.03 + 0.02 / LAP < world.node_us < 1.1 * 0.03


@pytest.mark.parametrize("coherence", [False, True])
@pytest.mark.parametrize("after", [10, 500, 2000, 3500])
def test_a_pause_of_the_machine_changes_no_level(world, after, coherence):
    """A pause at any moment: that cycle and the next render the same, estimates hardly move."""
    world.begin(mixed(), 300.0, coherence=coherence)
    before = world.cycles(150)
    node, contact = world.node_us, world.contact_us
    assert before.level == 3
    assert before.microseconds > 0.5 * 300.0
    world.pause(after, 5000.0)
    late = world.cycle()
    assert late.microseconds == pytest.approx(before.microseconds + 5000.0, rel=0.02)
    # one lap at twice the cost is a sixteenth
    assert node * 0.99 <= world.node_us <= node * 1.07
    assert contact * 0.99 <= world.contact_us <= contact * 1.07
    for out in (late, world.cycle()):
        assert (out.level, out.touching) == (before.level, before.touching)


def test_a_late_cycle_tests_no_new_level(world):
    """The next level waits for the next cycle, though time is left over."""
    least = Costs().cycle(2)
    world.begin(np.full(N, NEAR), least + 60.0, coherence=True)
    before = world.cycles(100)
    assert before.level == 2
    assert before.microseconds > least + 50.0
    world.pause(1000, 5000.0)
    late = world.cycle()
    assert late.level == 2
    assert late.microseconds < 5000.0 + least + LAP * world.costs.node


def test_a_pause_that_ends_in_time_counts(world):
    """The cycle could be in time still, and is, with fewer levels."""
    world.begin(np.full(N, NEAR), Costs().cycle(3) + 20.0)
    assert world.cycles(100).level == 3
    world.pause(300, 100.0)
    out = world.cycle()
    assert out.level == 2
    assert out.microseconds <= Costs().cycle(3) + 20.0


# ---- points that bore a force


def touching(world, out) -> list[int]:
    places = (ctypes.c_int32 * out.touching)()
    world.library.world_touching(places)
    return list(places)


def keep(world, places) -> None:
    world.library.world_touch(len(places), (ctypes.c_int32 * len(places))(*places))


@pytest.mark.parametrize("coherence", [False, True])
def test_points_that_bore_a_force_stay_where_levels_are_left_out(world, coherence):
    world.begin(mixed(), 1e9, coherence=coherence)
    world.library.world_solve()
    out = world.cycle()
    assert out.level == LEVELS - 1
    last = touching(world, out)
    deep = [place for place in last if place >= N * BROOD ** (LEVELS - 2)]
    bore = [last[0], *deep[:20], deep[-1]]
    world.costs = Costs(node=1e9)  # level 0 alone
    shallow = list(range(40))
    for kept in (bore, bore, [], bore):
        keep(world, kept)
        assert touching(world, world.cycle()) == shallow + kept[1:]
    # points that have moved away are left out
    keep(world, bore)
    assert touching(world, world.cycle(-2.0)) == []


# ---- what follows


def deepest(costs: Costs, budget: float, touching: int = 0) -> int:
    return max([0] + [n for n in range(LEVELS) if costs.cycle(n, touching) <= budget])


@pytest.mark.parametrize("coherence", [False, True])
def test_levels_follow_costs(world, coherence):
    """With all nodes near none is skipped, and the time of a level is known exactly."""
    world.begin(np.full(N, NEAR), 110.0, coherence=coherence)
    seen = []
    for node in (0.05, 0.1, 0.2, 0.1, 0.05, 0.025, 0.0125, 0.2):
        world.costs = Costs(node=node)
        out = world.cycles(60)
        assert out.level == deepest(world.costs, 110.0)
        assert 0.98 * world.costs.cycle(out.level) <= out.microseconds <= 110.0
        seen.append(out.level)
    assert seen == [2, 1, 0, 1, 2, 2, 3, 0]


@pytest.mark.parametrize("coherence", [False, True])
def test_warm_and_cold_levels(world, coherence):
    """A new level gets a smaller share of time than one that was rendered before."""
    budget = Costs().cycle(2)
    world.begin(np.full(N, NEAR), budget, cold=0.8, coherence=coherence)
    for node, level in ((0.99, 1), (0.81, 1), (0.79, 2), (0.81, 2), (0.99, 2), (1.02, 1), (0.9, 1)):
        world.costs = Costs(node=0.05 * node)
        assert world.cycles(60).level == level, node


def test_touching_points_have_their_share(world):
    """Forces are computed after the traversal, and must fit into the budget as well."""
    for contact in (0.01, 0.1, 0.3):
        costs = Costs(contact=contact)
        for budget in (costs.cycle(2, 100) * 1.02, costs.cycle(2, 100) * 0.98):
            world.begin(np.where(np.arange(N) < 100, DEEP, NEAR), budget)
            world.costs = costs
            out = world.cycles(150)
            expected = max(level for level in range(LEVELS) if costs.cycle(level, 100) <= budget)
            assert out.level == expected
            assert out.touching == 100 * BROOD**expected
            assert out.microseconds <= budget


@pytest.mark.parametrize("coherence", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_budgets_are_kept(world, seed, coherence):
    """At steady costs cycles exceed the budget by the time between two clock readings at most."""
    rng = np.random.default_rng(seed)
    costs = Costs(*10.0 ** rng.uniform(-2, 0, 2), look=0.02, start=0.5)
    heights = rng.choice([-0.3, 0.1, 0.4, 0.7, 1.5], N, p=rng.dirichlet(np.ones(5)))
    budget = float(rng.uniform(1.2, 2.0) * costs.cycle(0, N) + rng.uniform(0, 1) * costs.cycle(3))
    world.begin(heights, budget, radii=[0.6, 0.4, 0.2, 0.1], cold=0.8, coherence=coherence)
    world.costs = costs
    path = 0.3 * np.sin(np.linspace(0, 9, 200) * rng.uniform(0.2, 2))
    found = [world.cycle(height) for height in path]
    spent = np.array([out.microseconds for out in found])
    level = np.array([out.level for out in found])
    least = np.array([1.1 + costs.cycle(0, out.touching) for out in found])
    # level 0 is always traversed
    kept = (level > 0) | (least < budget)
    block = LAP * (costs.node + costs.look)
    assert kept[100:].any()
    assert (spent[100:] <= budget + block)[kept[100:]].all()


@pytest.mark.parametrize("coherence", [False, True])
@pytest.mark.parametrize("contact", [0.02, 0.1, 0.3, 1.0])
def test_all_points_deep_at_once(world, contact, coherence):
    """The most that contact can take, from one cycle to the next; costs are learned on the way.

    Until points have touched they are taken to cost 0.1 us, and a cycle may be late in proportion.
    """
    budget, costs = 400.0, Costs(contact=contact, look=0.02)
    block = LAP * (costs.node + costs.look)
    world.begin(np.full(N, -0.01), budget, cold=0.8, coherence=coherence)
    world.costs = costs
    assert world.cycles(100, -0.5).touching == 0
    spent = np.array([world.cycle().microseconds for _ in range(100)])
    assert (spent > budget + block).sum() <= (2 if contact > 0.1 else 0)
    assert (spent[2:] <= budget + block).all()
    assert spent.max() <= budget * max(1.0, contact / 0.1)
    # known from then on
    for _ in range(3):
        assert world.cycles(150, -0.5).touching == 0
        found = [world.cycle() for _ in range(50)]
        assert all(out.microseconds <= budget + block for out in found)
        assert all(out.touching == N * BROOD**out.level for out in found)
        assert found[-1].level == deepest(costs, budget, N)


@pytest.mark.parametrize("coherence", [False, True])
def test_level_0_is_always_rendered(world, coherence):
    world.begin(mixed(), 1e-3, coherence=coherence)
    for _ in range(3):
        out = world.cycle()
        assert (out.level, out.touching) == (0, 40)


def test_a_machine_that_slows_down_does_not_pause(world):
    """If all costs rise by 20 at once, the budget is exceeded by one lap at most."""
    world.begin(np.full(N, NEAR), budget := Costs().cycle(3) + 10.0)
    assert world.cycles(100).level == 3
    world.costs = Costs(node=1.0)
    assert world.cycle().microseconds < budget + 3 * LAP * 1.0


# ---- clearance


@pytest.mark.parametrize("coherence", [False, True])
def test_clearance_costs_nothing_if_not_requested(world, coherence):
    """The nearest point gets none, and all other results are the same with and without it."""
    radii = [0.6, 0.4, 0.2, 0.1]
    heights = 0.2 + np.random.default_rng(0).uniform(0.0, 2.0, N)
    path = np.repeat(0.25 * np.sin(np.linspace(0.0, 9.0, 300)), 2)
    found = []
    for asked in (True, False):
        world.begin(heights, 1e9, radii=radii, coherence=coherence)
        world.library.world_ask_clearance(asked)
        found.append([world.cycle(height) for height in path])
    for height, out, without in zip(path, *found, strict=True):
        nearest = heights.min() - height
        assert out.clearance <= max(nearest, 0.0)
        assert without.clearance == 0.0
        for name in ("microseconds", "visited", "skipped", "touching", "level", "depth"):
            assert getattr(out, name) == getattr(without, name), name
        for name in ("force", "torque", "gradient"):
            assert bytes(getattr(out, name)) == bytes(getattr(without, name)), name
    free = np.array([out.clearance for out in found[0]])
    assert (free > 0.0).sum() > 100
    if not coherence:
        # of the first sphere of a point that is clear, or of the point
        high = heights - path[:, None]
        radius = np.select([high > r for r in radii[:-1]], radii[:-1], 0.0)
        assert free == pytest.approx(np.maximum((high - radius).min(axis=1), 0.0), abs=1e-8)


# ---- what is left over


def test_time_left_over_prepares_the_next_level(world):
    """All nodes of level 1 exceed the budget, but most stay clear for many cycles: skipped."""
    heights = np.full(N, 0.3)  # clear of the spheres from level 1 on
    heights[:6] = NEAR
    heights[:3] = DEEP
    radii, budget = [0.5, 0.25, 0.25, 0.25], 28.0
    assert Costs().cycle(1) > budget
    world.begin(heights, budget, radii=radii, cold=0.8, coherence=True)

    def climb() -> list[int]:
        levels = []
        for _ in range(60):
            out = world.cycle()
            # whole levels only, in time
            assert out.touching == 3 * BROOD**out.level
            assert out.microseconds <= budget
            levels.append(out.level)
        assert (np.diff(levels) >= 0).all()
        return levels

    levels = climb()
    assert levels[0] == 0
    assert levels[-1] == LEVELS - 1
    # a jump there and back: all nodes must be tested again
    world.cycle(-50.0)
    again = climb()
    assert again[0] == 0
    assert again[-1] == LEVELS - 1
    # without coherence nothing is remembered
    world.begin(heights, budget, radii=radii, cold=0.8)
    out = world.cycles(60)
    assert out.level == 0
    # and no time spent on what would be lost
    assert out.visited == N


def looks_again(world, way, errors):
    """Return true if clear nodes are tested again after a motion `way` margins short of contact.

    `errors` are those of distances and radii in margins, in the first cycle; in the second one
    they are the opposite.
    """
    height, radius = 3.0, 0.5
    world.begin(np.full(N, height), 0.0, radii=np.full(LEVELS, radius), coherence=True)
    world.library.world_errors(0.0, 0.0)
    world.cycle(height - radius - 0.25)  # the margin is that of poses there
    margin = world.library.world_margin()
    world.begin(np.full(N, height), 0.0, radii=np.full(LEVELS, radius), coherence=True)
    for sign, where in ((1.0, 0.0), (-1.0, height - radius - way * margin)):
        world.library.world_errors(*(sign * margin * np.array(errors)))
        out = world.cycle(where)
    assert out.visited + out.skipped >= N
    assert out.skipped in (0, N)
    return out.skipped == 0


def test_skipped_nodes_are_clear_in_spite_of_rounding(world):
    """Positions and radii have margins: two of each, and two in the test of spheres.

    A node that was clear by the least and would not be by the most now is tested again.
    """
    assert looks_again(world, 2.0, (1.0, -1.0))
    assert looks_again(world, -1.0, (0.0, 0.0))
    # after smaller motions it is not
    assert not looks_again(world, 10.0, (1.0, -1.0))
    assert not looks_again(world, 10.0, (0.0, 0.0))
