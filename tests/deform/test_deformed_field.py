"""Deformed distance fields: a plain version with NumPy, closed forms, exact distances."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import reducedfem as rf
from deformed_objects import BAR, RUBBER, boxes_field, exact_distance, linear_q, plain
from failures import fail_each_allocation
from turns import turn


def test_results_equal_a_plain_version(held_bar, bar_field, bar_proxies, rng):
    for k in (1, 3, 5, 16):
        made = rf.DeformedField(bar_field, held_bar, bar_proxies, k=k)
        for size in (0.0, 0.002, 0.01):
            q = size * rng.normal(size=held_bar.r) / (1 + np.arange(held_bar.r))
            points = rng.uniform((-0.05, -0.05, -0.05), (0.35, 0.11, 0.09), (40, 3))
            expected = [plain(made, x, q) for x in points]
            assert made.flat(q) == 0
            # rounding of places of 0.3 m
            np.testing.assert_allclose(
                made.distance(points, q), [d for d, _ in expected], atol=1e-13
            )
            np.testing.assert_array_equal(made.nearest(points, q), [i for _, i in expected])


def test_modes_are_those_of_the_mesh(held_bar, bar_field, bar_proxies, rng):
    made = rf.DeformedField(bar_field, held_bar, bar_proxies)
    q = 0.03 * rng.normal(size=held_bar.r)
    at = rf.Embedding(held_bar.mesh, bar_proxies)
    moved = bar_proxies + at.interpolate(held_bar.displacement(q))
    np.testing.assert_allclose(made.positions(q), moved, atol=1e-15)
    # forces near proxies do the work of forces at them
    which, forces = rng.integers(0, 40, 25), rng.normal(size=(25, 3))
    nodal = rf.Embedding(held_bar.mesh, bar_proxies[which]).distribute(forces)
    np.testing.assert_allclose(
        made.project(which, forces), held_bar.project(nodal), rtol=1e-12, atol=1e-14
    )
    np.testing.assert_array_equal(made.project([], np.zeros((0, 3))), 0.0)


# ---- closed forms --------------------------------------------------------------------------------


def test_at_rest_it_is_the_field_at_rest(held_bar, free_bar, bar_field, bar_proxies, rng):
    points = rng.uniform((-0.2, -0.2, -0.2), (0.5, 0.3, 0.3), (3000, 3))
    for model in (held_bar, free_bar):
        made = rf.DeformedField(bar_field, model, bar_proxies)
        np.testing.assert_array_equal(
            made.distance(points, np.zeros(model.r)), bar_field.distance(points)
        )
        np.testing.assert_array_equal(
            made.gradient(points, np.zeros(model.r)), bar_field.gradient(points)
        )
    one = made.distance(points[0], np.zeros(12))
    assert one.shape == ()
    assert one == bar_field.distance(points[0])
    assert made.gradient(points[0], np.zeros(12)).shape == (3,)
    assert made.nearest(points[:0], np.zeros(12)).shape == (0,)


def test_turns_are_exact(free_bar, bar_field, bar_proxies, rng):
    """A rotation by any angle with a translation moves the field rigidly."""
    made = rf.DeformedField(bar_field, free_bar, bar_proxies)
    points = rng.uniform((-0.05, -0.05, -0.05), (0.35, 0.11, 0.09), (1000, 3))
    for vector in ((0, 0, 0.5), (2.0, 1.0, -1.5), (0, np.pi, 0)):
        r, shift = turn(vector), rng.normal(size=3)
        q = linear_q(r - np.eye(3), shift)
        # gradients of the field are up to sqrt(3), places are exact to some 1e-16
        np.testing.assert_allclose(
            made.distance(points @ r.T + shift, q), bar_field.distance(points), atol=1e-14
        )
        # away from the sides of cells, where they jump
        same = (
            np.abs(made.gradient(points @ r.T + shift, q) - bar_field.gradient(points) @ r.T).max(
                axis=1
            )
            < 1e-9
        )
        assert same.mean() > 0.99
        assert made.flat(q) == 0


def test_uniform_strain_pulls_back_exactly(free_bar, bar_field, bar_proxies, rng):
    """All proxies agree, so the value is that at rest at the place pulled back."""
    made = rf.DeformedField(bar_field, free_bar, bar_proxies)
    points = rng.uniform((-0.05, -0.05, -0.05), (0.35, 0.11, 0.09), (500, 3))
    f = turn((0.3, -0.2, 0.9)) @ (np.eye(3) + np.diag([0.2, -0.1, 0.05]))
    np.testing.assert_allclose(
        made.distance(points @ f.T, linear_q(f - np.eye(3))),
        bar_field.distance(points),
        atol=1e-14,
    )


def test_limits_of_the_weights(free_bar, bar_field):
    """At a proxy it has all the weight; equally far proxies have equal weights."""
    # proxies that disagree: a field of one linear mode with a gradient that varies
    nodes = free_bar.mesh.nodes
    basis = np.zeros((1, len(nodes), 3))
    basis[0, :, 1] = nodes[:, 0] ** 2
    model = rf.reduce(rf.Solid(free_bar.mesh, RUBBER), basis)
    corners = np.array([[x, y, z] for x in (0.1, 0.2) for y in (0.01, 0.05) for z in (0.01, 0.03)])
    made = rf.DeformedField(bar_field, model, corners, k=8)
    for size in (0.0, 1.0, 3.0):
        q = [size]
        places = made.positions(q)
        np.testing.assert_allclose(
            made.distance(places, q), bar_field.distance(corners), atol=1e-15
        )
        # near a proxy the value tends to that, in proportion to the way
        for way in (1e-3, 1e-6, 1e-9, 1e-300):
            near = places + way
            assert np.abs(made.distance(near, q) - bar_field.distance(corners)).max() < 40 * way + (
                1e-15
            )
    # one place equally far from all: k places on a sphere around it, at rest
    ball = 0.015 * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]]) + (0.15, 0.03, 0.02)
    made = rf.DeformedField(bar_field, model, ball, k=4)
    middle = np.array([0.15, 0.03, 0.02])
    spread = np.linalg.norm(made.positions([0.0]) - middle, axis=1)
    value = made.distance(middle, [0.0])
    assert value == bar_field.distance(middle)
    assert np.ptp(spread) < 1e-16
    # coincident proxies share
    made = rf.DeformedField(bar_field, model, np.repeat(corners[:1], 3, axis=0), k=3)
    np.testing.assert_allclose(made.distance(corners[0], [0.0]), bar_field.distance(corners[0]))


def test_gradient_is_that_of_the_function(held_bar, bar_proxies, rng):
    """Central differences; kinks of the grid and of the neighbours are few at this step."""
    smooth = rf.SphereField((0.15, 0.03, 0.02), 0.05)
    for k in (3, 5, 9):
        made = rf.DeformedField(smooth, held_bar, bar_proxies, k=k)
        q = 0.05 * rng.normal(size=held_bar.r) / (1 + np.arange(held_bar.r))
        points = rng.uniform((-0.05, -0.05, -0.05), (0.35, 0.11, 0.09), (400, 3))
        h = 1e-6
        slope = np.stack(
            [
                (made.distance(points + h * e, q) - made.distance(points - h * e, q)) / (2 * h)
                for e in np.eye(3)
            ],
            axis=1,
        )
        # differences err by h^2 f''' / 6, near a proxy at 1 mm up to 1e-6 / 1e-3
        wrong = np.abs(made.gradient(points, q) - slope).max(axis=1)
        assert np.median(wrong) < 1e-7
        assert (wrong > 1e-4).mean() < 0.02
        # the change of the weights matters
        assert np.ptp(np.linalg.norm(slope, axis=1)) > 0.05


def test_it_is_continuous_where_neighbours_change(held_bar, bar_proxies, rng):
    """Along fine lines, differences are in proportion to the step throughout."""
    field = rf.SphereField((0.15, 0.03, 0.02), 0.05)
    q = 0.05 * rng.normal(size=held_bar.r) / (1 + np.arange(held_bar.r))
    ends = rng.uniform((-0.05, -0.05, -0.05), (0.35, 0.11, 0.09), (20, 2, 3))

    def largest(k, steps):
        made = rf.DeformedField(field, held_bar, bar_proxies, k=k)
        found, sets = [], set()
        for a, b in ends:
            t = np.linspace(0, 1, steps + 1)[:, None]
            line = a + t * (b - a)
            found.append(np.abs(np.diff(made.distance(line, q))).max())
            sets |= set(made.nearest(line, q).tolist())
        assert len(sets) > 10  # neighbours did change
        return max(found)

    for k in (4, 5, 8):
        assert largest(k, 10000) < 0.2 * largest(k, 1000)
    # so the test can fail: with one proxy alone there are jumps
    assert largest(1, 10000) > 0.5 * largest(1, 1000)

    # and in q
    made = rf.DeformedField(field, held_bar, bar_proxies)
    points = ends[:, 0]
    steps = [
        np.abs(np.diff([made.distance(points, t * q) for t in np.linspace(0, 2, n)], axis=0)).max()
        for n in (200, 2000)
    ]
    assert steps[1] < 0.2 * steps[0]


def test_flat_and_inverted_deformations(free_bar, bar_field, bar_proxies, rng):
    made = rf.DeformedField(bar_field, free_bar, bar_proxies)
    points = rng.uniform(-1, 1, (300, 3))
    for f in (
        np.zeros((3, 3)),
        np.diag([1.0, 1.0, 0.0]),
        np.diag([1.0, 0.0, 0.0]),
        np.diag([1.0, 1.0, -1.0]),
        -np.eye(3),
        np.diag([1.0, 1e-200, 1.0]),
        np.outer([1, 2, 3], [3, -1, 1.0]),
        rng.normal(size=(3, 3)) @ np.diag([1, 1, 1e-9]) @ rng.normal(size=(3, 3)),
    ):
        q = linear_q(f - np.eye(3))
        assert made.flat(q) == 40
        _, inverse, _ = made._core.pose(q)
        values = np.linalg.svd(inverse[0], compute_uv=False)
        assert values.max() < 10 * (1 + 1e-9)
        assert np.linalg.det(inverse[0]) >= 0
        for result in (made.distance(points, q), made.gradient(points, q)):
            assert np.isfinite(result).all()
    # raised to 0.1: the inverse of diag(1, 1, 0.1) for every smaller last value, continuously
    for last in (0.11, 0.0999, 0.05, 0.0, -0.5):
        _, inverse, flat = made._core.pose(linear_q(np.diag([0.0, 0.0, last - 1])))
        np.testing.assert_allclose(inverse[7], np.diag([1, 1, 1 / max(last, 0.1)]), atol=1e-12)
        assert flat == (40 if last < 0.1 else 0)
    # steps of 2e-4: the inverse 1 / s changes by 2e-4 / s^2, at most a hundred times as much
    way = np.linspace(0.3, -0.3, 3001)
    strains = [linear_q(turn((0.4, 0.2, 0.1)) @ np.diag([1, s, 1.2]) - np.eye(3)) for s in way]
    inverses = np.array([made._core.pose(q)[1][0] for q in strains])
    assert np.abs(np.diff(inverses, axis=0)).max() < 0.021
    assert np.abs(np.diff(inverses, axis=0)).max() > 0.01


# ---- accuracy ------------------------------------------------------------------------------------


def test_errors_shrink_with_the_deformation(held_bar, bar_field, bar_proxies, rng):
    """Against exact distances to the deformed surface, within 2 cm of it."""
    made = rf.DeformedField(bar_field, held_bar, bar_proxies)
    surface = held_bar.mesh.surface()
    skin = rf.Skin(held_bar, surface)
    size = 0.3
    for mode in range(3):  # two bends, a twist
        direction = np.zeros(held_bar.r)
        direction[mode] = 1.0
        unit = 0.1 * size / np.abs(held_bar.displacement(direction)).max()
        errors, signs = [], []
        # the same places by the surface each time
        which = rng.integers(0, len(surface.vertices), 120)
        away = rng.uniform(-0.02, 0.02, (120, 3))
        for amplitude in (0.0, 0.25, 0.5, 1.0):
            q = amplitude * unit * direction
            moved = rf.Surface(skin.positions(q), surface.triangles)
            points = moved.vertices[which] + away
            exact = exact_distance(points, moved)
            found = made.distance(points, q)
            errors.append(np.abs(found - exact).mean() / size)
            signs.append(((found < 0) != (exact < 0))[np.abs(exact) > 0.005 * size].mean())
        # the grid of 5 mm rounds edges
        assert errors[0] < 5e-4
        assert errors[1] < errors[2] < errors[3]
        assert errors[1] < 2e-3
        assert errors[3] < 1e-2
        assert max(signs[:3]) == 0
        assert signs[3] < 0.02


# ---- arguments and memory ------------------------------------------------------------------------


def test_given_embeddings(held_bar, bar_field, bar_proxies, rng):
    embedding = rf.Embedding(held_bar.mesh, bar_proxies)
    made = rf.DeformedField(bar_field, held_bar, bar_proxies, embedding=embedding)
    assert made.embedding is embedding
    q = 0.05 * rng.normal(size=held_bar.r)
    np.testing.assert_array_equal(
        made.positions(q), rf.DeformedField(bar_field, held_bar, bar_proxies).positions(q)
    )
    shell = rf.Pointshell(bar_proxies, np.tile([0.0, 0.0, 1.0], (40, 1)))
    by_shell = rf.DeformedField(bar_field, held_bar, shell)
    np.testing.assert_array_equal(by_shell.positions(q), made.positions(q))
    assert repr(made) == "<DeformedField: 40 proxies, k = 5, r = 10>"
    assert made.reduced is held_bar
    assert made.field is bar_field
    assert made.safety == 1.5


@pytest.mark.parametrize(("scale", "by"), [(1000.0, 0.0), (1.0, 0.5)])
def test_fields_beside_their_mesh(held_bar, bar_field, bar_proxies, scale, by):
    """Other units or another place give one warning, when the field is made; copies give none."""
    field = rf.DistanceField(
        scale * bar_field.values, scale * bar_field.origin + by, scale * bar_field.spacing
    )
    said = r"of 40 proxies of the field lie .*: proxies\[\d+\] by .* The field reaches from"
    with pytest.warns(rf.GeometryWarning, match=said) as reported:
        made = rf.DeformedField(field, held_bar, scale * bar_proxies + by)
    assert len(reported) == 1
    assert reported[0].filename == __file__
    again = pickle.loads(pickle.dumps(made))  # warnings are errors here
    np.testing.assert_array_equal(again.proxies, made.proxies)


def test_proxies_are_fitted(held_bar, bar_field):
    made = rf.DeformedField(bar_field, held_bar, rng=3)
    assert made.proxies.shape == (40, 3)
    assert np.abs(bar_field.distance(made.proxies)).max() < 1e-6
    np.testing.assert_array_equal(
        made.proxies, rf.DeformedField(bar_field, held_bar, rng=3).proxies
    )
    assert rf.DeformedField(bar_field, held_bar, 12, rng=4).proxies.shape == (12, 3)
    # spread over the whole bar
    assert (np.ptp(made.proxies, axis=0) > 0.8 * np.subtract(*BAR[::-1])).all()


def test_wrong_arguments_are_refused(held_bar, free_bar, bar_field, bar_proxies, fork):
    def make(field=bar_field, reduced=held_bar, proxies=bar_proxies, **more):
        return rf.DeformedField(field, reduced, proxies, **more)

    sphere = rf.SphereField((0, 0, 0), 1.0)
    empty = rf.DistanceField(np.ones((3, 3, 3)), (0, 0, 0), 0.1)
    for work, error, message in (
        (lambda: make(field=3), rf.InputTypeError, "field must be a Field, got int"),
        (lambda: make(reduced=3), rf.InputTypeError, "reduced must be a ReducedSolid"),
        (lambda: make(proxies=np.zeros((3, 2))), rf.InputError, r"proxies must have shape \(m, 3"),
        (lambda: make(proxies=np.zeros((0, 3))), rf.InputError, "m at least 1"),
        (lambda: make(proxies=[[0, 0, np.nan]]), rf.InputError, "proxies.0, 2. is nan"),
        (lambda: make(proxies=0), rf.InputError, "proxies must be between 1 and 1000"),
        (lambda: make(k=0), rf.InputError, "k must be between 1 and 16, got 0"),
        (lambda: make(k=17), rf.InputError, "k must be between 1 and 16, got 17"),
        (lambda: make(k=5.0), rf.InputTypeError, "k must be an int"),
        (lambda: make(safety=0.9), rf.InputError, "safety must be 1 or more"),
        (lambda: make(safety=np.inf), rf.InputError, "safety must be finite"),
        (lambda: make(embedding=3), rf.InputTypeError, "embedding must be an Embedding"),
        (
            lambda: make(embedding=rf.Embedding(fork.mesh, bar_proxies)),
            rf.InputError,
            "another mesh",
        ),
        (
            lambda: make(embedding=rf.Embedding(held_bar.mesh, bar_proxies[:3])),
            rf.InputError,
            "other points",
        ),
        (lambda: make(domains=0), rf.InputError, "domains must be between 1"),
        (lambda: make(domains=41), rf.InputError, "between 1 and 40, the number of proxies"),
        (lambda: make(domains=[0, 1]), rf.InputError, r"domains must have shape \(40,\)"),
        (lambda: make(domains=np.full(40, -1)), rf.InputError, "labels in domains must be 0"),
        (lambda: make(domains=[]), rf.InputError, "at least one label or pair .*, got none"),
        (lambda: make(domains=[0] * 7), rf.InputError, r"for each element, or \(\d+,\), for each"),
        (lambda: make(domains=np.full(40, 1)), rf.InputError, "domain 0 has no proxies"),
        (lambda: make(domains=np.zeros(40)), rf.InputTypeError, "got dtype float64"),
        (lambda: make(domains=[(3, bar_proxies)]), rf.InputTypeError, r"domains\[0\] must be a p"),
        (lambda: make(domains=2, overlap=-1.0), rf.InputError, "overlap must not be negative"),
        (lambda: make(overlap=1.0), rf.InputError, "overlap needs automatic domains"),
        (
            lambda: make(field=sphere, domains=2),
            rf.InputTypeError,
            "one with DistanceField.from_field",
        ),
        (lambda: make(field=empty, domains=2), rf.InputError, "no inside"),
        (
            lambda: make(proxies=np.tile(bar_proxies[:1], (5, 1)), domains=2),
            rf.InputError,
            "only 1 different positions",
        ),
    ):
        with pytest.raises(error, match=message):
            work()
    made = make()
    q = np.zeros(held_bar.r)
    for work, message in (
        (lambda: made.distance([[0, 0]], q), "points must have shape"),
        (lambda: made.distance([[0, 0, np.inf]], q), "points.0, 2. is inf"),
        (lambda: made.distance([[0, 0, 0]], q[1:]), "q must have shape"),
        (lambda: made.distance([[0, 0, 0]], q + np.nan), "q.0. is nan"),
        (lambda: made.distance([[0, 0, 0]], q + 1e200), "q is so large"),
        (lambda: made.positions(q + 1e200), "q is so large"),
        (lambda: made.project([40], [[0, 0, 0]]), "proxies.0. is 40"),
        (lambda: made.project([0], [0, 0, 0]), "forces must have shape"),
    ):
        with pytest.raises(rf.InputError, match=message):
            work()
    # far away there is nothing to be felt, and no trouble
    far = made.distance([[1e150, 0, 0], [0, 1e200, 0], [1e300, 1e300, 1e300]], q)
    assert (far > 0).all()


def test_running_out_of_memory(held_bar, bar_proxies):
    field = boxes_field([BAR], 0.02, 0.05)
    fail_each_allocation(lambda: rf.DeformedField(field, held_bar, bar_proxies, domains=2))
    made = rf.DeformedField(field, held_bar, bar_proxies)
    q = np.zeros(held_bar.r)

    def work():
        return made.distance(bar_proxies, q), made.positions(q), made.distance(bar_proxies, q)

    fail_each_allocation(work)
