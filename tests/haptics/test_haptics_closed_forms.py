"""Sessions against closed forms: ranks of contact, stiffness that is felt (B07 4.7, 4.10)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import reducedfem as rf
from repetitions import fewer
from turns import product, turn_between, turned

X, Y, Z = np.eye(3)
R = 0.02  # m, of what is held
FIT = 1e-5  # m, how much smaller a socket is than what is in it
STIFFNESS = 1e4  # N/m, of a point
AT_REST = 1e-5  # of the largest force: by how much a cycle may change it
LEVER = 0.02  # m, at which the two springs of a coupling are equally stiff


def wall(centre, normal, along, across, spacing, n):
    """Return (2 n + 1)^2 points of a plane and their normals, into the wall."""
    steps = spacing * np.arange(-n, n + 1)
    points = [centre + i * along + j * across for i, j in itertools.product(steps, steps)]
    return np.array(points), np.tile(normal, (len(points), 1))


def joined(*parts):
    points, normals = (np.concatenate(of) for of in zip(*parts, strict=True))
    return points, normals


# ---- what is held, in what: field, points and normals, directions that are free ----------------


def ball_on_a_plane():
    floor = wall(-R * Z, -Z, X, Y, 0.003, 6)
    return rf.SphereField([0, 0, 0], R), floor, [0, 1, 3, 4, 5]


def ball_in_a_wedge():
    left, right = -(X + Z) / np.sqrt(2.0), (X - Z) / np.sqrt(2.0)
    sides = [wall(R * n, n, Y, np.cross(Y, n), 0.003, 6) for n in (left, right)]
    return rf.SphereField([0, 0, 0], R), joined(*sides), [1, 3, 4, 5]


def ball_in_a_shaft():
    angle = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    rings = [((R - FIT) * ring + 0.003 * i * Z, ring) for i in range(-6, 7)]
    return rf.SphereField([0, 0, 0], R), joined(*rings), [2, 3, 4, 5]


def ball_in_a_socket():
    one = np.array(list(itertools.permutations([1.0, 2.0, 4.0]))) / np.sqrt(21.0)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    normals = (one[:, None] * signs).reshape(-1, 3)
    return rf.SphereField([0, 0, 0], R), ((R - FIT) * normals, normals), [3, 4, 5]


def box_between_planes():
    sides = [wall((R - FIT) * n, n, X, Y, 0.01, 1) for n in (Z, -Z)]
    return rf.BoxField([-0.1, -0.1, -R], [0.1, 0.1, R]), joined(*sides), [0, 1, 5]


def peg_in_a_shaft():
    angle = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1)
    rings = [((R - FIT) * ring + 0.005 * i * Z, ring) for i in range(-4, 5)]
    return rf.CapsuleField(-0.1 * Z, 0.1 * Z, R), joined(*rings), [2, 5]


def box_in_a_shaft():
    sides = [wall((R - FIT) * n, n, Z, np.cross(Z, n), 0.005, 2) for n in (X, -X, Y, -Y)]
    return rf.BoxField([-R, -R, -0.1], [R, R, 0.1]), joined(*sides), [2]


def box_in_a_box():
    ways = [(X, Y, Z), (Y, Z, X), (Z, X, Y)]
    sides = [wall(s * (R - FIT) * n, s * n, u, v, 0.005, 2) for n, u, v in ways for s in (1, -1)]
    return rf.BoxField([-R] * 3, [R] * 3), joined(*sides), []


HELD = {
    "ball on a plane": (ball_on_a_plane, 1),
    "ball in a wedge": (ball_in_a_wedge, 2),
    "ball in a round shaft": (ball_in_a_shaft, 2),
    "ball in a socket": (ball_in_a_socket, 3),
    "box between planes": (box_between_planes, 3),
    "round peg in a round shaft": (peg_in_a_shaft, 4),
    "box in a square shaft": (box_in_a_shaft, 5),
    "box in a box": (box_in_a_box, 6),
}
# free directions go to other points of the same lattice, and turn; held ones are pulled
AWAY = np.array([0.012, 0.012, 0.012, 0.3, -0.2, 0.4])
PULL = np.array([0.01, -0.02, -0.02, 0.02, 0.03, -0.02])


def run(field, shell, hands, coupling, **options):
    """Return the records of a session of which each of the poses is the hand's for so long."""
    contact = rf.PenaltyContact(
        rf.PointTree(rf.Pointshell(*shell)), field, options.pop("stiffness", STIFFNESS),
        warm_nodes=None, max_points=None, grasp=options.pop("grasp", None), direction="normal",
    )  # fmt: skip
    times = 1e-3 * np.arange(len(hands))
    device = rf.ReplayDevice(times, [p for p, _ in hands], [q for _, q in hands])
    session = rf.HapticSession(
        contact, device, coupling=coupling, ramp=0.0, budget_us=0.0, **options
    )
    records = session.run(len(hands)).array
    session.close()
    return records


def springs(shell, touched, at):
    """Return the stiffness of points that touch, by (dx, dw) about a grasp point, shape (6, 6)."""
    points, normals = (of[touched] for of in shell)
    rows = np.concatenate([normals, np.cross(points - at, normals)], axis=1)
    return STIFFNESS * rows.T @ rows


def scene(name):
    """Return field, points and normals, which directions are free and held, and a first pose."""
    make, rank = HELD[name]
    field, shell, free = make()
    assert rank == 6 - len(free)
    first = np.zeros(3)
    if rank == 1 or "wedge" in name:
        first[2] = -FIT  # open contacts are pressed together, closed ones are tight
    return field, shell, free, [i for i in range(6) if i not in free], first


def held_at(field, shell, position, quaternion, n):
    """Return the springs of all points that touch there, of which there are n."""
    back = rf.Pointshell(*shell).points - position
    w, v = quaternion[0], -quaternion[1:]
    back = back + 2.0 * np.cross(v, np.cross(v, back) + w * back)
    touched = field.distance(back) < 1e-9
    assert touched.sum() == n
    return springs(shell, touched, position)


@pytest.mark.parametrize("name", HELD)
def test_resisting_directions_are_held_and_free_ones_follow(name):
    """Soft coupling (4.10): springs in series where points resist, free motion elsewhere."""
    field, shell, free, kept, first = scene(name)
    k, torsion = 1.0, 2.0 * LEVER**2
    coupling = rf.VirtualCoupling(k, torsion, damping=0.0)
    away, pull = np.zeros(6), np.zeros(6)
    away[free], pull[kept] = AWAY[free], PULL[kept]
    there = turned(away[3:])
    hands = [
        (first, turned(np.zeros(3))),
        (away[:3] + first, there),
        (away[:3] + pull[:3], product(turned(pull[3:]), there)),
    ]
    n = 12
    records = run(field, shell, [hand for hand in hands for _ in range(n)], coupling)
    # the coupling resists, too; at first contact at a lever may push harder than it holds
    assert (records["rank"][1:] == 6).all()

    # along what is free nothing but the hand counts, and it feels nothing
    r = records[2 * n - 1]
    begin = records[n - 1]
    np.testing.assert_allclose(
        r["object_position"] - begin["object_position"], away[:3], rtol=0, atol=1e-12
    )
    turn = turn_between(begin["object_quaternion"], r["object_quaternion"])
    np.testing.assert_allclose(turn, away[3:], rtol=0, atol=1e-12)
    np.testing.assert_allclose(r["force"], begin["force"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(r["torque"], 0.0, atol=1e-14)

    # against what resists: points and coupling in series
    r = records[-1]
    resists = held_at(field, shell, away[:3], there, r["touching"])
    both = np.diag([k] * 3 + [0.5 * torsion] * 3)
    expected = np.linalg.solve(resists + both, both @ pull)
    moved = np.concatenate([r["object_position"] - away[:3],
                            turn_between(there, r["object_quaternion"])])  # fmt: skip
    length = np.array([1.0] * 3 + [LEVER] * 3)
    missed, most = np.abs(length * (moved - expected)), np.abs(length * expected).max()
    assert missed[kept].max() <= 1e-4 * most
    assert missed.max() <= 1e-6 * np.linalg.norm(length * pull)
    assert np.abs(length * moved)[kept].max() <= np.abs(length * pull).max() * k / STIFFNESS * 3
    e = r["hand_position"] - r["object_position"]
    np.testing.assert_allclose(r["force"], -k * e, rtol=0, atol=1e-15)
    missing = product(r["hand_quaternion"], r["object_quaternion"] * [1, -1, -1, -1])
    np.testing.assert_allclose(r["torque"], -torsion * missing[1:], rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", HELD)
def test_a_saturated_coupling_releases_free_directions_only(name):
    """A hand far away in all directions (4.9, 4.10): free directions follow within a cycle."""
    field, shell, free, kept, first = scene(name)
    k, force = 500.0, 0.004
    torsion, torque = 2.0 * k * LEVER**2, force * LEVER
    coupling = rf.VirtualCoupling(k, torsion, force, torque, damping=0.0)
    far = 20.0 * PULL
    far[free] = AWAY[free]
    hands = [(first, turned(np.zeros(3)))] + [(far[:3], turned(far[3:]))] * 40
    records = run(field, shell, hands, coupling)
    assert records["rank"][1] == len(kept)
    length = np.array([1.0] * 3 + [LEVER] * 3)
    tilt = coupling.degenerate * np.linalg.norm(length * far)  # of directions that are dropped
    missed = np.abs(records["object_position"][1:] - far[:3])
    assert missed[:, [i for i in free if i < 3]].max(initial=0.0) <= tilt

    r = records[-1]
    hand, at = (tuple(r[f"{of}_{what}"] for what in ("position", "quaternion"))
                for of in ("hand", "object"))  # fmt: skip
    e = np.concatenate([hand[0] - at[0], turn_between(at[1], hand[1])])
    assert np.abs(length * e)[free].max(initial=0.0) <= tilt
    # held directions are pulled with the saturated force, and move as far as that takes them
    wrench = coupling.wrench(hand, *at)
    acts = np.concatenate([wrench.force, wrench.torque])
    contact = np.concatenate([r["contact_force"], r["contact_torque"]])
    np.testing.assert_allclose(
        (contact / length)[kept], -(acts / length)[kept], rtol=0, atol=1e-3 * force
    )
    assert np.linalg.norm(acts[:3]) == pytest.approx(force, rel=1e-4)
    assert np.linalg.norm(acts[3:]) <= torque * (1.0 + 1e-12)
    place = np.where(np.isin(np.arange(6), free), far, 0.0)[:3]
    resists = held_at(field, shell, place, at[1], r["touching"])
    expected = np.linalg.pinv(resists, 1e-6) @ acts
    moved = at[0] - place
    ways = [i for i in kept if i < 3]
    np.testing.assert_allclose(
        moved[ways], expected[ways], rtol=0.02, atol=1e-3 * force / STIFFNESS
    )
    assert np.linalg.norm(moved[ways]) <= 1.02 * force / STIFFNESS
    # while the hand feels the whole spring
    np.testing.assert_allclose(r["force"], -k * e[:3], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(r["torque"], -wrench.linear_torque, rtol=1e-12, atol=1e-15)


# ---- stiffness -----------------------------------------------------------------------------------


def test_a_ball_on_a_plane_feels_like_two_springs_in_series():
    """(4.31), to the last digits: the depth of the one point that touches is linear."""
    k = 700.0
    coupling = rf.VirtualCoupling(k, 1.0)
    steps = 1e-4 * np.arange(1, 6)
    hands = [((0.0, 0.0, -z), turned(np.zeros(3))) for z in steps for _ in range(60)]
    hands[0] = ((0.0, 0.0, -1e-6), hands[0][1])  # not farther in than coupling and point allow
    field, shell, _ = ball_on_a_plane()
    force = run(field, shell, hands, coupling)["force"][59::60]
    series = k * STIFFNESS / (k + STIFFNESS)
    np.testing.assert_allclose(force[:, 2], series * steps, rtol=1e-12)
    np.testing.assert_allclose(force[:, :2], 0.0, atol=1e-15)


def many_planes(rng, n, depth=FIT, near=False, across=1):
    """Return a convex body of so many planes, and points a little inside each of them.

    With `near`, every other plane is almost parallel to the one before, on either side.
    """
    normals = []
    while len(normals) < n:
        normal = rng.normal(size=3)
        if near and len(normals) % 2:
            normal = rng.choice([-1.0, 1.0]) * normals[-1] + 10.0 ** rng.uniform(-4, -1) * normal
        normal /= np.linalg.norm(normal)
        if near or all(normal @ other < 0.9 for other in normals):
            normals.append(normal)
    planes = [rf.PlaneField(R * normal, normal) for normal in normals]
    field = rf.IntersectionField(planes) if n > 1 else planes[0]
    sides = []
    for normal in normals:
        along = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
        along /= np.linalg.norm(along)
        inside = depth * rng.uniform(0.5, 2.0)
        sides.append(
            wall((R - inside) * normal, normal, along, np.cross(normal, along), 5e-4, across)
        )
    return field, joined(*sides)


def felt(rng, body, saturated, render, harder=1.0, size=1.0, n_steps=24, n_still=80, dynamic=False):
    """Return, of small random steps of the hand, k dx, k_T / 2 dw, dF and dT at rest, all in N.

    Also which part of the largest force was still changing, at most, before the hand moved on.
    """
    field, shell = body
    k, stiffness = np.array([1.0, harder]) * 10.0 ** rng.uniform(2.0, 3.0, 2)
    lever = 0.01
    most = (2e-5 * size * k, 2e-5 * size * k * lever) if saturated else (None, None)
    coupling = rf.VirtualCoupling(k, 2.0 * k * lever**2, *most)
    if dynamic:
        coupling = rf.DynamicCoupling(k, 2.0 * k * lever**2, 0.05, 0.05 * lever**2, 1.0, 1, *most)
    position, quaternion = np.zeros(3), turned(np.zeros(3))
    grasp = 0.5 * R * rng.uniform(-1.0, 1.0, 3)
    hands = [(grasp, quaternion)]
    for i in range(n_steps):
        if i % 2:
            position = position + 3e-6 * size * rng.normal(size=3)
        else:
            quaternion = product(turned(3e-4 * size * rng.normal(size=3)), quaternion)
            quaternion /= np.linalg.norm(quaternion)
        hands.append((position + grasp, quaternion))
    records = run(
        field, shell, [hand for hand in hands for _ in range(n_still)], coupling,
        grasp=grasp, stiffness=stiffness, render=render,
    )  # fmt: skip
    rest, before = records[n_still - 1 :: n_still], records[n_still - 2 :: n_still]
    left = np.linalg.norm(rest["force"] - before["force"], axis=1).max()
    assert rest["touching"].max() > 0
    left /= np.linalg.norm(rest["force"], axis=1).max()
    # with dropped directions the result is not an equilibrium
    assert left >= AT_REST or (rest["rank"] == 6).all()
    steps = [
        (
            k * np.linalg.norm(b["hand_position"] - a["hand_position"]),
            k * lever * np.linalg.norm(turn_between(a["hand_quaternion"], b["hand_quaternion"])),
            np.linalg.norm(b["force"] - a["force"]),
            np.linalg.norm(b["torque"] - a["torque"]) / lever,
        )
        for a, b in itertools.pairwise(rest)
    ]
    return *np.array(steps).T, left


# contact that is as hard as the coupling, about, and a hundred times as hard
@pytest.mark.parametrize("harder", [1.0, 100.0])
@pytest.mark.parametrize("saturated", [False, True])
@pytest.mark.parametrize("n", range(1, 9))
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_no_stiffness_above_that_of_the_coupling_is_felt(n, saturated, harder):
    """Theorem of 4.7, rotations included: planes at random, off the grasp point, opening, closing.

    Of a coupling that saturates it holds for what acts on the object. The whole spring, which
    the hand feels with ``render="linear"``, is that of another force than the one in balance.
    """
    render = "saturated" if saturated else "linear"
    for seed in range(3):
        rng = np.random.default_rng([n, seed])
        dx, dw, force, torque, left = felt(rng, many_planes(rng, n), saturated, render, harder)
        assert left < AT_REST
        shifts, turns = slice(1, None, 2), slice(0, None, 2)
        assert (force[shifts] <= dx[shifts] * (1.0 + 1e-6)).all()
        assert (torque[turns] <= dw[turns] * (1.0 + 1e-6)).all()
        # of both at once, in which a shift makes torques, too
        assert (np.hypot(force, torque) <= np.hypot(dx, dw) * (1.0 + 1e-6)).all()
        assert np.hypot(force, torque).max() > 0.1 * np.hypot(dx, dw).min()


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("saturated", [False, True])
@pytest.mark.parametrize("harder", [1.0, 10.0, 100.0, 1e5])
@pytest.mark.no_asan(reason="other tests run the same C code")
def test_stiff_contact_comes_to_rest_and_is_felt_no_stiffer(harder, saturated, near):
    """Contact up to a million times as stiff as the coupling, wedges and slots.

    As deep as the forces of a coupling lead, and with as small steps where that is next to
    nothing. Where contact is more than a thousand times as stiff, Newton's step, which knows the
    points that touch and no others, sometimes goes round in a circle; where directions count as
    nothing that the coupling resists in, every other run did.
    """
    stiff = harder > 100.0
    rests = []
    for n, seed in itertools.product(range(2, 7), range(fewer(4, 1))):
        rng = np.random.default_rng([n, seed, near])
        body = many_planes(rng, n, FIT / harder, near, 0 if stiff else 1)
        dx, dw, force, torque, left = felt(
            rng, body, saturated, "saturated", harder, min(1.0, 1e2 / harder) if stiff else 1.0, 8
        )
        rests.append(left < AT_REST)
        if rests[-1]:
            assert (np.hypot(force, torque) <= np.hypot(dx, dw) * (1.0 + 1e-6)).all()
    assert sum(rests) >= (0.8 if stiff else 1.0) * len(rests)


@pytest.mark.parametrize("near", [False, True])
@pytest.mark.parametrize("harder", [1.0, 100.0])
def test_a_dynamic_coupling_comes_to_rest_and_is_felt_no_stiffer(harder, near):
    """With a mass every direction resists."""
    for n in range(2, 7):
        rng = np.random.default_rng([n, near])
        body = many_planes(rng, n, FIT / harder, near, 0)
        dx, dw, force, torque, left = felt(
            rng, body, n % 2 == 0, "saturated", harder, 1.0, 6, 400, dynamic=True
        )
        assert left < AT_REST
        assert (np.hypot(force, torque) <= np.hypot(dx, dw) * (1.0 + 1e-6)).all()


def test_a_linear_display_is_stiffer_than_the_spring_in_saturation():
    """No theorem holds there: up to a quarter more, for contact about as soft as the coupling."""
    most = 0.0
    for n, seed in itertools.product((2, 4, 6, 8), range(3)):
        rng = np.random.default_rng([n, seed])
        dx, _, force, _, left = felt(rng, many_planes(rng, n), True, "linear")
        assert left < AT_REST
        most = max(most, (force / np.where(dx > 0.0, dx, np.inf)).max())
    assert 1.0 < most < 1.3
