"""Forces of contact with friction against the law itself, closed forms and other solvers' data."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import reducedfem as rf
from failures import fail_each_allocation
from friction import (
    factor,
    free_motion,
    manufactured,
    pinched_problem,
    random_problem,
    residual,
    squeezed_problem,
)
from reducedfem import _core
from repetitions import fewer

END = {"solved": 0, "budget": 1, "stalled": 2, "infeasible": 3}
VARIANTS = [1, 2, 3]  # instruction sets of linalg/simd.h
REFERENCE = [
    *(f"{kind}_m{m:03d}" for kind in ("table", "tablefix", "brick") for m in (10, 20, 30, 60)),
    *("clip_m020", "plug_m030", "plug_m060"),
    *("reduced20_m010", "reduced20_m030", "reduced40_m060"),
    *("fclib_boxesstack48", "fclib_boxstacks82", "fclib_perio60"),
]


def require(simd: int) -> None:
    if not _core.simd_available(simd):
        pytest.skip("this processor lacks the instruction set")


def single(gap: float, slip: float, angle: float, mu: float) -> rf.FrictionSolution:
    """One contact of compliance 2 m/N along the normal, 3 along the tangents."""
    free = [gap, slip * np.cos(angle), slip * np.sin(angle)]
    return rf.solve_friction(np.diag([2.0, 3.0, 3.0]), free, mu)


@pytest.mark.parametrize("angle", [0.0, 0.7, 2.4, -1.9])
def test_one_contact_that_is_open_sticks_or_slips(angle):
    away = single(0.5, 0.1, angle, 0.5)
    assert away.state.tolist() == ["open"]
    np.testing.assert_array_equal(away.force, 0.0)
    np.testing.assert_allclose(np.hypot(*away.gap[0, 1:]), 0.1, rtol=1e-14)

    stuck = single(-0.5, 0.3, angle, 0.5)  # normal force 0.25, tangential one 0.1 < 0.125
    assert stuck.state.tolist() == ["stick"]
    np.testing.assert_allclose(stuck.force[0, 0], 0.25, rtol=1e-12)
    along = [np.cos(angle), np.sin(angle)]
    np.testing.assert_allclose(stuck.force[0, 1:], np.multiply(-0.1, along), rtol=1e-7)
    np.testing.assert_allclose(stuck.gap, 0.0, atol=1e-8)

    slips = single(-0.5, 0.6, angle, 0.5)
    assert slips.state.tolist() == ["slip"]
    np.testing.assert_allclose(slips.force[0], [0.25, *np.multiply(-0.125, along)], rtol=1e-7)
    np.testing.assert_allclose(slips.gap[0, 1:], np.multiply(0.6 - 3 * 0.125, along), rtol=1e-7)


def test_a_point_mass_on_a_slope_slides_as_coulomb_says():
    h, mass, gravity = 1e-3, 0.3, 9.81
    for tilt in np.radians([5.0, 20.0, 21.7, 21.9, 40.0]):  # tan = 0.4 at 21.80
        fall = h * h * gravity * np.array([-np.cos(tilt), np.sin(tilt), 0.0])
        out = rf.solve_friction(np.eye(3) * h * h / mass, fall, 0.4, tol=1e-12)
        slides = np.tan(tilt) > 0.4
        assert out.state.tolist() == ["slip" if slides else "stick"]
        expected = gravity * (np.sin(tilt) - 0.4 * np.cos(tilt)) if slides else 0.0
        np.testing.assert_allclose(out.gap[0, 1] / h**2, expected, atol=1e-10 * gravity)


@pytest.mark.parametrize("simd", VARIANTS)
@pytest.mark.parametrize("seed", range(12))
def test_problems_made_from_their_solutions(seed, simd):
    require(simd)
    rng = np.random.default_rng(seed)
    m, mu = int(rng.integers(1, 40)), float(rng.choice([0.0, 0.2, 0.8, 1.5]))
    V = factor(m, 3 * m, rng, opposed=seed % 2 == 1)
    W = V @ V.T
    free, state, force = manufactured(W, mu, rng)
    found, gap, states, (end, claimed, *_) = _core.friction_solve(
        W, free, np.full(m, mu), None, 1e-12, np.inf, False, 0.0, simd
    )
    assert end == END["solved"]
    assert claimed <= 1e-12
    assert residual(W, free, mu, found) < 1e-11
    np.testing.assert_allclose(gap, (W @ found.ravel()).reshape(m, 3) + free, atol=1e-12)
    if mu > 0.2:
        return  # other solutions may exist
    condition = np.linalg.cond(W)
    np.testing.assert_allclose(found, force, atol=1e-11 * condition * np.abs(force).max())
    if mu > 0.0:
        np.testing.assert_array_equal(states, state)


@pytest.mark.parametrize("simd", VARIANTS)
@pytest.mark.parametrize("as_factor", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_bodies_of_few_shapes(seed, as_factor, simd):
    require(simd)
    rng = np.random.default_rng(seed)
    m = int(rng.integers(10, 40))
    V = factor(m, int(rng.choice([0, 6, 14])), rng)
    free, W, mu = free_motion(V, rng), V @ V.T, np.full(m, 0.5)
    force, _, _, (end, *_) = _core.friction_solve(
        V if as_factor else W, free, mu, None, 1e-8, np.inf, as_factor, 0.0, simd
    )
    assert end == END["solved"]
    assert residual(W, free, mu, force) < 1.01e-8


SEEDS = fewer(1000, 100)


@pytest.mark.parametrize(
    ("kind", "unsolved"), [("natural", 0), ("regular", 0), ("compliant", 0), ("deficient", 0.01)]
)
def test_a_thousand_random_problems(kind, unsolved):
    failed, infeasible = [], []
    for seed in range(SEEDS):
        mu = (0.0, 0.2, 0.4, 0.8, 1.0)[seed % 5]
        W, free = random_problem(kind, seed, mu)
        force, _, _, (end, claimed, *_) = _core.friction_solve(
            W, free, np.full(len(free), mu), None, 1e-8, np.inf, False
        )
        found = residual(W, free, mu, force)
        assert abs(claimed - found) <= 1e-11 + 1e-6 * found
        if end != END["solved"] or found > 1.01e-8:
            failed.append(seed)
        if end == END["infeasible"]:
            infeasible.append(seed)
    assert len(failed) <= unsolved * SEEDS, failed
    if kind != "natural":  # the others have a solution
        assert not infeasible


@pytest.mark.parametrize("mu", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("m", "shapes"), [(2, 0), (10, 0), (20, 6), (30, 14), (60, 6)])
def test_pinched_bodies_are_found_infeasible(m, shapes, mu):
    for seed in range(10):
        W, free = pinched_problem(m, shapes, seed)
        force, _, _, (end, *_) = _core.friction_solve(
            W, free, np.full(m, mu), None, 1e-8, np.inf, False
        )
        assert end == END["infeasible"]
        largest = np.abs(free).max() / (np.trace(W) / (3 * m))
        assert np.abs(force).max() <= 100.01 * largest


@pytest.mark.parametrize("own", [1e-4, 1e-5, 1e-6])
def test_stiff_bodies_that_are_squeezed_have_forces(own):
    for seed in range(20):
        W, free = squeezed_problem(10, own, seed)
        force, _, _, (end, *_) = _core.friction_solve(
            W, free, np.zeros(10), None, 1e-8, np.inf, False
        )
        assert end == END["solved"]
        assert residual(W, free, 0.0, force) < 1.01e-8


def test_a_problem_with_a_solution_is_not_found_infeasible():
    # its W moves nothing along forces against which the free motion works; slip makes up for it
    rng = np.random.default_rng(137)
    m, mu = int(rng.integers(1, 61)), float(rng.choice([0.0, 0.2, 0.4, 0.8, 1.0]))
    V = factor(m, int(rng.choice([0, 6, 14, 20])), rng, opposed=True)
    W = V @ V.T
    free, _, known = manufactured(W, mu, rng)
    assert residual(W, free, mu, known) < 1e-12
    *_, (end, _, _, _, _, _) = _core.friction_solve(
        W, free, np.full(m, mu), None, 1e-8, np.inf, False
    )
    assert end != END["infeasible"]


def test_site_compliance_with_a_factor_is_added_to_the_diagonal():
    rng = np.random.default_rng(3)
    V = factor(20, 4, rng)
    W = V @ V.T
    soft = 1e-3 * W.trace() / len(W)
    free, mu = free_motion(V, rng), np.full(20, 0.4)
    force, *_ = _core.friction_solve(V, free, mu, None, 1e-11, np.inf, True, soft)
    whole = rf.solve_friction(W + soft * np.eye(60), free, 0.4, tol=1e-11)
    np.testing.assert_allclose(force, whole.force, atol=1e-7 * np.abs(force).max())


@pytest.mark.parametrize("name", REFERENCE)
def test_problems_of_independent_solvers(name, shared):
    data = np.load(shared / "reference" / "friction" / f"{name}.npz")
    for free, mu, status, force in zip(
        data["dfree"], data["mu"], data["status"], data["f"], strict=True
    ):
        out = rf.solve_friction(data["W"], free, mu)
        assert out.status == "solved"
        assert residual(data["W"], free, mu, out.force) < 1.01e-8
        if "reduced" in name or "fclib" in name:
            continue  # forces need not be unique
        felt, expected = data["W"] @ out.force.ravel(), data["W"] @ force
        np.testing.assert_allclose(felt, expected, atol=1e-6 * np.abs(free).max())
        names = np.array(["open", "stick", "slip"])
        assert (out.state == names[status]).mean() > 0.95  # the rest are on an edge of their cones


def test_a_sequence_begins_with_the_forces_of_the_last_step(shared):
    data = np.load(shared / "reference" / "friction" / "seq_table_m030.npz")
    force, warm, cold = None, 0, 0
    for free, mu in zip(data["dfree"][:60], data["mu"][:60], strict=True):
        out = rf.solve_friction(data["W"], free, mu, start=force)
        assert out.status == "solved"
        assert residual(data["W"], free, mu, out.force) < 1.01e-8
        warm += out.steps
        cold += rf.solve_friction(data["W"], free, mu).steps
        force = out.force
    assert warm < 0.9 * cold


def test_without_friction_it_is_a_linear_complementarity_problem():
    rng = np.random.default_rng(5)
    V = factor(12, 36, rng)
    W, free = V @ V.T, free_motion(V, rng)
    out = rf.solve_friction(W, free, 0.0, tol=1e-12)
    np.testing.assert_array_equal(out.force[:, 1:], 0.0)
    normal = W[::3, ::3]
    touch = out.force[:, 0] > 0.0
    assert 0 < touch.sum() < 12
    expected = np.zeros(12)
    expected[touch] = np.linalg.solve(normal[np.ix_(touch, touch)], -free[touch, 0])
    np.testing.assert_allclose(out.force[:, 0], expected, rtol=1e-8)
    assert (normal @ expected + free[:, 0])[~touch].min() > 0.0


def test_contacts_in_another_order_and_twice():
    rng = np.random.default_rng(8)
    V = factor(15, 45, rng)
    free, W = free_motion(V, rng), V @ V.T
    out = rf.solve_friction(W, free, 0.6, tol=1e-12)
    order = rng.permutation(15)
    rows = (3 * order[:, None] + np.arange(3)).ravel()
    other = rf.solve_friction(W[np.ix_(rows, rows)], free[order], 0.6, tol=1e-12)
    scale = np.abs(out.force).max()
    np.testing.assert_allclose(other.force, out.force[order], atol=1e-9 * scale)

    twice = np.r_[np.arange(45), np.arange(3)]  # the first contact again
    double = rf.solve_friction(W[np.ix_(twice, twice)], np.r_[free, free[:1]], 0.6)
    assert double.status == "solved"
    together = double.force[:15].copy()
    together[0] += double.force[15]
    np.testing.assert_allclose(W @ together.ravel(), W @ out.force.ravel(), atol=1e-6)


def test_units_change_nothing():
    rng = np.random.default_rng(9)
    V = factor(18, 10, rng)
    W, free = V @ V.T, free_motion(V, rng)
    metres = rf.solve_friction(W, free, 0.5)
    millimetres = rf.solve_friction(1024 * W, 1024 * free, 0.5)
    assert (metres.sweeps, metres.steps) == (millimetres.sweeps, millimetres.steps)
    np.testing.assert_array_equal(metres.force, millimetres.force)


def test_a_pinch_is_infeasible_and_its_forces_are_bounded():
    # a body that moves along x and y between two walls closer than it is wide
    H = np.array([[1, 0], [0, 1], [0, 0], [-1, 0], [0, 1], [0, 0]], dtype=float)
    W = rf.delassus([(H, 1e-3 * np.eye(2))])
    for free in ([[-1e-3, 0, 0], [-1e-3, 2e-4, 0]], [[-3e-3, 1e-3, 0], [1e-3, 0, 0]]):
        with pytest.warns(rf.PlausibilityWarning, match="no forces were found .*infeasible"):
            out = rf.solve_friction(W, free, 0.3)
        assert out.status == "infeasible"
        largest = np.abs(free).max() / (np.trace(W) / 6)
        assert np.abs(out.force).max() <= 100.01 * largest
        assert (out.force[:, 0] >= 0.0).all()
    apart = rf.solve_friction(W, [[-1e-3, 0, 0], [2e-3, 2e-4, 0]], 0.3)
    assert apart.status == "solved"
    np.testing.assert_allclose(apart.force[1], 0.0)


@pytest.mark.parametrize("budget", [1e-3, 5.0, 20.0, 60.0, 200.0])
def test_out_of_time_the_forces_lie_in_their_cones_and_do_no_work(budget):
    rng = np.random.default_rng(11)
    ends = set()
    for _ in range(10):
        V = factor(40, 20, rng, opposed=True)
        W, free = V @ V.T, free_motion(V, rng)
        out = rf.solve_friction(W, free, 0.8, budget_us=budget)
        assert (out.status == "solved") == (out.residual <= 1e-8)
        ends.add(out.status)
        assert (out.force[:, 0] >= 0.0).all()
        across = np.hypot(out.force[:, 1], out.force[:, 2])
        assert (across <= 0.8 * out.force[:, 0] * (1 + 1e-14)).all()
        work = (out.force * out.gap).sum()
        if out.status != "solved":
            assert work <= 1e-12 * np.abs(out.force * free).sum()
        assert abs(out.residual - residual(W, free, 0.8, out.force)) <= 1e-12 + 1e-9 * out.residual
    if budget < 1.0:
        assert "budget" in ends


def test_a_start_far_away_does_not_survive_a_solve_without_time():
    H = np.array([[1.0], [0], [0], [-1], [0], [0]])
    W = rf.delassus([(H, [[1e-3]])])
    free, far = [[-1e-3, 0, 0], [-1e-3, 0, 0]], np.tile([1e6, 1.0, 0.0], (2, 1))
    out = rf.solve_friction(W, free, 0.3, start=far, budget_us=1e-3)
    assert out.status == "budget"
    assert np.abs(out.force).max() <= 100.01 * 1e-3 / (W.trace() / 6)


@pytest.mark.parametrize("scale", [1e-300, 1e-130, 1.0, 1e130])
@pytest.mark.parametrize("motion", [1e-310, 1e-120, 1.0, 1e120])
def test_numbers_of_any_size_give_finite_forces(scale, motion):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rf.PlausibilityWarning)  # scale 1e-300 counts as rigid
        out = rf.solve_friction(scale * np.eye(6), motion * np.array([-1, 0.5, 0, 1, 0, 0]), 0.3)
    assert np.isfinite(out.force).all()
    assert np.isfinite(out.residual)
    if scale > 1e-200:
        assert out.status == "solved"


def test_a_factor_without_columns_is_refused():
    with pytest.raises(rf.InputError, match=r"must have a column, got shape \(12, 0\)"):
        _core.friction_solve(
            np.zeros((12, 0)), np.zeros((4, 3)), np.ones(4), None, 1e-8, np.inf, True
        )


def test_nothing_touches_and_nothing_moves():
    out = rf.solve_friction(np.eye(6), [[1.0, 2.0, 0.0], [0.5, 0.0, 0.0]], 0.5)
    assert out.status == "solved"
    np.testing.assert_array_equal(out.force, 0.0)
    still = rf.solve_friction(np.eye(6), np.zeros((2, 3)), 0.5, start=np.ones((2, 3)))
    assert still.status == "solved"
    np.testing.assert_allclose(still.force, 0.0, atol=1e-8)
    none = 1e-300 * np.eye(3)  # no force moves this contact
    rigid = rf.solve_friction(none, [[1e-3, 0.0, 0.0]], 0.5)
    assert rigid.status == "solved"
    with pytest.warns(rf.PlausibilityWarning, match="no forces were found"):
        pressed = rf.solve_friction(none, [[-1e-3, 0.0, 0.0]], 0.5)
    assert pressed.status != "solved"
    assert np.isfinite(pressed.force).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.eye(4), np.zeros(3), 0.5), r"W must have shape \(3m, 3m\), three rows a contact"),
        ((np.eye(6), np.zeros(3), 0.5), r"free must have shape \(2, 3\) or \(6,\)"),
        ((np.eye(3), np.zeros(3), [0.5, 0.5]), r"mu must be one number or have shape \(1,\)"),
        ((np.eye(3), np.zeros(3), -0.5), r"mu must be between 0 and 1e\+09, got -0.5 at 0"),
        ((np.eye(3), np.zeros(3), np.nan), r"mu is nan"),
        ((np.eye(3), [0.0, np.nan, 0.0], 0.5), r"free\[1\] is nan"),
        ((np.full((3, 3), np.inf), np.zeros(3), 0.5), r"W\[0, 0\] is inf"),
        ((-np.eye(3), np.zeros(3), 0.5), r"W\[0, 0\] must be >= 0, got -1"),
        (
            (np.diag([0.0, 1.0, 1.0]), np.zeros(3), 0.5),
            r"W\[0, 0\] must be > 0, got 0: no force op",
        ),
        ((np.triu(np.ones((3, 3))), np.zeros(3), 0.5), r"W must be symmetric: \[1, 0\] is 0"),
        ((np.eye(3), [1e200, 0.0, 0.0], 0.5), r"must be below 1e\+140, mu at most 1e\+09"),
        ((np.eye(3) * 1e200, np.zeros(3), 0.5), r"must be below 1e\+140, mu at most 1e\+09"),
        ((np.eye(3), np.zeros(3), [1e10]), r"mu must be between 0 and 1e\+09, got 1e\+10 at 0"),
        ((np.eye(3), np.zeros(3), 0.5, [1.0]), r"start must have shape \(1, 3\)"),
        ((np.eye(3), np.zeros(3), 0.5, None, 0.0), r"tol must be positive, got 0"),
        ((np.eye(3), np.zeros(3), 0.5, None, 1e-8, -1.0), r"budget_us must be positive, got -1"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(rf.InputError, match=message):
        rf.solve_friction(*arguments)


def test_arguments_of_other_names_are_refused_with_a_hint():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'mu'"):
        rf.solve_friction(np.eye(3), np.zeros(3), friction=0.3)
    said = "solve_friction has no argument 'budget'; its arguments are W, .*; did you mean 'budget"
    with pytest.raises(rf.InputTypeError, match=said):
        rf.solve_friction(np.eye(3), np.zeros(3), 0.3, budget=3.0)
    with pytest.raises(rf.InputTypeError, match="'complience'; .*; did you mean 'compliance'"):
        rf.delassus([(np.eye(3), np.eye(3))], complience=0.1)


def test_matrices_that_are_no_compliances_are_named():
    indefinite = 1e-4 * np.ones((6, 6)) - 9e-5 * np.eye(6)  # eigenvalues 5.1e-4 and -9e-5
    free = [[-1e-3, 0.0, 0.0]] * 2
    said = "W is not positive semidefinite: it has the eigenvalue -9e-05"
    with pytest.warns(rf.PlausibilityWarning, match=said):
        assert rf.solve_friction(indefinite, free, 0.4).status == "stalled"
    said = r"C of bodies\[0\] must be positive semidefinite, but has the eigenvalue -9e-05"
    with pytest.raises(rf.InputError, match=said):
        rf.delassus([(np.eye(6), indefinite)])
    low = np.ones((6, 2)) @ np.ones((2, 6))  # of rank 1, but for rounding
    rf.delassus([(np.eye(6), 1e200 * low), (np.eye(6), 0.0 * low)])
    uneven = 1e-5 * np.eye(6) + np.triu(np.full((6, 6), 1e-12), 1)
    said = r"W must be symmetric: .*, \[0, 1\] is 1e-12, .* 1e-09 of .*, pass \(W \+ W.T\) / 2"
    with pytest.raises(rf.InputError, match=said):
        rf.solve_friction(uneven, free, 0.4)
    assert rf.solve_friction((uneven + uneven.T) / 2, free, 0.4).status == "solved"


def test_coefficients_in_degrees_are_doubted():
    with pytest.warns(rf.PlausibilityWarning, match="mu is 30: is it in degrees or per") as caught:
        rf.solve_friction(np.eye(3), [-1.0, 0, 0], 30.0)
    assert caught[0].filename == __file__


def test_delassus_adds_bodies_and_sites():
    rng = np.random.default_rng(2)
    H1, H2 = rng.normal(size=(9, 4)), rng.normal(size=(9, 6))
    C1, C2 = (a @ a.T for a in (rng.normal(size=(4, 4)), rng.normal(size=(6, 6))))
    W = rf.delassus([(H1, C1), (H2, C2)], compliance=0.25)
    expected = H1 @ C1 @ H1.T + H2 @ C2 @ H2.T + 0.25 * np.eye(9)
    np.testing.assert_allclose(W, expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(W, W.T)
    with pytest.raises(rf.InputError, match=r"C of bodies\[1\]"):
        rf.delassus([(H1, C1), (H2, C1)])
    with pytest.raises(rf.InputError, match=r"three rows a contact.*got 8 rows"):
        rf.delassus([(H1[:8], C1)])
    with pytest.raises(rf.InputError, match=r"C of bodies\[0\] must be symmetric: \[1, 0\] is 0"):
        rf.delassus([(H1, np.triu(np.ones((4, 4))))])
    with pytest.raises(rf.InputError, match=r"C of bodies\[1\]\[2, 2\] must be >= 0, got -1"):
        rf.delassus([(H1, C1), (H2, np.diag([1.0, 1, -1, 1, 1, 1]))])
    with pytest.raises(rf.InputError, match="bodies is so large that the W is not finite"):
        rf.delassus([(1e200 * H1, 1e200 * C1)])
    with pytest.raises(rf.InputError, match="compliance must be >= 0, got -1"):
        rf.delassus([(H1, C1)], compliance=-1)
    with pytest.raises(rf.InputError, match="bodies is empty"):
        rf.delassus([])


@pytest.mark.parametrize(
    "work",
    [
        lambda: rf.delassus([(np.eye(6), np.eye(6))] * 2),
        lambda: rf.solve_friction(np.eye(6), -np.ones(6), 0.5).force,
        lambda: rf.solve_friction_sweeps(np.eye(6), -np.ones(6), 0.5).force,
        lambda: rf.solve_friction_pyramid(np.eye(6), -np.ones(6), 0.5).force,
    ],
    ids=["delassus", "solver", "sweeps", "pyramid"],
)
def test_every_allocation_may_fail(work):
    fail_each_allocation(work, more_than=2)
