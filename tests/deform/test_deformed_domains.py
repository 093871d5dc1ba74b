"""Domains of deformed fields: against the whole field and a plain version."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

import reducedfem as rf
from deformed_objects import (
    FORK,
    boxes_distance,
    boxes_field,
    exact_distance,
    plain,
    skin_points,
    thinned,
)
from reducedfem import _core


def test_at_rest_domains_agree_with_the_whole(fork, fork_field, fork_proxies, rng):
    samples = fork_field.origin + 0.005 * np.argwhere(np.ones(fork_field.values.shape))
    whole = fork_field.distance(samples)
    for domains, overlap in ((2, None), (2, 0.02), (3, 0.015), (4, 0.0), (1, None)):
        made = rf.DeformedField(fork_field, fork, fork_proxies, domains=domains, overlap=overlap)
        assert len(made.domains) == domains
        assert overlap is None or made.overlap == overlap
        # with gradients come the same proxies, those of all domains counted through
        q = np.zeros(made.r)
        of_gradients = made._core.evaluate(q, samples[::97], True, 1)[2]
        np.testing.assert_array_equal(of_gradients, made.nearest(samples[::97], q))
        assert domains == 1 or of_gradients.max() >= len(made.domains[0][1])
        parts = np.min([field.distance(samples) for field, _ in made.domains], axis=0)
        inside = np.all([_inside(field, samples) for field, _ in made.domains], axis=0)
        half = 0.5 * 3**0.5 * 0.005
        # outside, and inside down to the depth that is promised
        good = whole >= min(0.0, -made.overlap / 1.13 + half)
        known = np.any([_inside(field, samples) for field, _ in made.domains], axis=0)
        np.testing.assert_allclose(parts[good & inside], whole[good & inside], atol=1e-7)
        # beside the box of a domain there are lower bounds, which are positive
        assert (parts <= whole + 1e-7)[good & ~inside].all()
        assert (parts[~known] > 0).all()
        np.testing.assert_array_equal((parts < 0)[good], (whole < 0)[good])
        # never positive inside, never deeper than the truth
        assert (parts[whole < 0] <= 1e-9).all()
        assert (parts[whole < 0] >= whole[whole < 0] - 1e-7).all()


def _inside(field, points):
    low, high = field.bounds
    return ((points >= low) & (points <= high)).all(axis=1)


def test_legs_are_domains(fork, fork_field, fork_proxies):
    made = rf.DeformedField(fork_field, fork, fork_proxies, domains=2)
    up = fork_proxies[:, 2] > 0.1
    left = fork_proxies[:, 0] < 0.045
    assert len(set(made.labels[up & left])) == 1
    assert len(set(made.labels[up & ~left])) == 1
    assert made.labels[up & left][0] != made.labels[up & ~left][0]
    assert not made.labels.flags.writeable
    # the other leg is not in the field of a leg: at its middle the distance is the gap and half
    for field, proxies in made.domains:
        here = proxies[proxies[:, 2] > 0.1][:, 0].mean() < 0.045
        own, other = (0.015, 0.075) if here else (0.075, 0.015)
        assert field.distance((own, 0.015, 0.2)) < -0.01
        assert abs(field.distance((other, 0.015, 0.2)) - 0.045) < 0.005
    # boxes fit the domains
    sizes = [field.values.size for field, _ in made.domains]
    assert min(sizes) < 0.95 * fork_field.values.size


def test_mirror_images(fork, fork_field, fork_proxies, rng):
    """Legs apart: places between them are pulled back into the other leg, but for domains."""
    one = rf.DeformedField(fork_field, fork, fork_proxies)
    several = rf.DeformedField(fork_field, fork, fork_proxies, domains=2)
    surface = fork.mesh.surface()
    skin = rf.Skin(fork, surface)
    for amplitude in (0.08, 0.05, -0.008):
        q = np.array([amplitude, 0.0])
        moved = rf.Surface(skin.positions(q), surface.triangles)
        points = rng.uniform((-0.1, 0.0, 0.05), (0.19, 0.03, 0.27), (250, 3))
        exact = exact_distance(points, moved)
        clear = np.abs(exact) > 0.006
        wrong = [
            ((made.distance(points, q) < 0) != (exact < 0))[clear].mean() for made in (one, several)
        ]
        ghosts = [
            ((made.distance(points, q) < 0) & (exact > 0.006)).sum() for made in (one, several)
        ]
        if amplitude > 0:
            assert ghosts[0] > 4
        assert ghosts[1] == 0
        assert wrong[1] == 0


def test_domains_by_labels_of_the_mesh(fork, fork_field, fork_proxies):
    """A proxy is of the element that carries it, or of the node next to it."""
    mesh = fork.mesh
    centres = mesh.nodes[mesh.elements].mean(axis=1)
    embedding = rf.Embedding(mesh, fork_proxies)
    # two of the regions have proxies, and neither is numbered from 0
    by_elements = np.where(centres[:, 0] < 0.045, 7, -3)
    by_elements[np.setdiff1d(np.arange(mesh.n_elements), embedding.elements)[:1]] = 5
    made = rf.DeformedField(fork_field, fork, fork_proxies, domains=by_elements, overlap=0.01)
    np.testing.assert_array_equal(made.labels, by_elements[embedding.elements] == 7)
    again = rf.DeformedField(
        fork_field, fork, fork_proxies, domains=by_elements, overlap=0.01, embedding=embedding
    )
    np.testing.assert_array_equal(again.labels, made.labels)
    # no proxy is of two domains: as many as before, in another order than those embedded
    one_by_one = {"domains": np.arange(len(fork_proxies)) % 2, "overlap": 0.0}
    made = rf.DeformedField(fork_field, fork, fork_proxies, **one_by_one)
    again = rf.DeformedField(fork_field, fork, fork_proxies, embedding=embedding, **one_by_one)
    assert len(made.proxies) == len(fork_proxies)
    np.testing.assert_array_equal(again.embedding.points, again.proxies)
    q = np.array([0.05, 0.002])
    np.testing.assert_array_equal(again.positions(q), made.positions(q))
    by_nodes = np.arange(mesh.n_nodes) % 3
    made = rf.DeformedField(fork_field, fork, fork_proxies, domains=by_nodes, overlap=0.01)
    nearest = np.linalg.norm(mesh.nodes - fork_proxies[:, None], axis=2).argmin(axis=1)
    np.testing.assert_array_equal(made.labels, by_nodes[nearest])
    assert set(made.labels) == {0, 1, 2}


def test_given_domains(fork, fork_field, fork_proxies, rng):
    points = rng.uniform((-0.05, -0.05, 0.0), (0.14, 0.08, 0.3), (500, 3))
    q = np.array([0.03, 0.01])
    made = rf.DeformedField(fork_field, fork, fork_proxies, domains=2)
    same = rf.DeformedField(fork_field, fork, domains=list(made.domains))
    np.testing.assert_array_equal(same.distance(points, q), made.distance(points, q))
    np.testing.assert_array_equal(same.gradient(points, q), made.gradient(points, q))
    np.testing.assert_array_equal(same.nearest(points, q), made.nearest(points, q))
    assert same.labels is None
    assert same.overlap is None
    # labels: the legs above a height, and what is below
    labels = np.where(fork_proxies[:, 2] < 0.05, 0, np.where(fork_proxies[:, 0] < 0.045, 1, 2))
    three = rf.DeformedField(fork_field, fork, fork_proxies, domains=labels, overlap=0.01)
    np.testing.assert_array_equal(three.labels, labels)
    assert [len(p) >= (labels == i).sum() for i, (_, p) in enumerate(three.domains)] == [True] * 3
    expected = [plain(three, x, q) for x in points[:60]]
    np.testing.assert_allclose(three.distance(points[:60], q), [d for d, _ in expected], atol=1e-13)
    np.testing.assert_array_equal(three.nearest(points[:60], q), [i for _, i in expected])
    # shapes with a formula
    legs = [(rf.BoxField(*FORK[i]), fork_proxies[labels == i]) for i in (1, 2)]
    exact = rf.DeformedField(legs[0][0], fork, domains=legs)
    assert exact.distance((0.015, 0.015, 0.2), np.zeros(2)) == pytest.approx(-0.015)
    assert exact.distance((0.075, 0.015, 0.2), np.zeros(2)) == pytest.approx(-0.015)
    assert exact.distance((0.045, 0.015, 0.02), np.zeros(2)) == pytest.approx(0.015)


@pytest.mark.parametrize("power", [-80, 70])
def test_domains_at_any_scale(fork_field, fork_proxies, power):
    """The squares of distances in metres exceed the range of float32 there."""
    scaled = rf.DistanceField(
        np.ldexp(fork_field.values, power),
        np.ldexp(fork_field.origin, power),
        np.ldexp(fork_field.spacing, power),
    )
    for labels, n in ((None, 3), ((fork_proxies[:, 0] < 0.045).astype(np.int32), 2)):
        expected = _core.field_domains(fork_field._core, fork_proxies, labels, n, 0.02, None, 1)
        overlap, label, parts = _core.field_domains(
            scaled._core, np.ldexp(fork_proxies, power), labels, n, np.ldexp(0.02, power), None, 2
        )
        assert overlap == np.ldexp(0.02, power)
        np.testing.assert_array_equal(label, expected[1])
        for (members, values, first), other in zip(parts, expected[2], strict=True):
            np.testing.assert_array_equal(members, other[0])
            np.testing.assert_array_equal(np.ldexp(values, -power), other[1])
            assert first == other[2]


def plain_domains(field, proxies, labels, overlap):
    """Return whether proxies are members, the box and the values of each domain."""
    spacing, values = field.spacing, field.values.astype(float)
    half = 0.5 * np.linalg.norm(spacing)
    solid = np.argwhere(values <= half)
    number = np.full(np.add(values.shape, 2), -1)
    number[tuple(solid.T + 1)] = np.arange(len(solid))
    rows, columns, ways = [], [], []
    for step in np.argwhere(np.ones((3, 3, 3))) - 1:
        to = number[tuple((solid + 1 + step).T)]
        rows.append(np.flatnonzero(to >= 0))
        columns.append(to[to >= 0])
        ways.append(np.full(len(rows[-1]), np.linalg.norm(step * spacing)))
    graph = coo_array(
        (np.concatenate(ways), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(solid), len(solid)),
    ).tocsr()
    places = spacing * solid
    at = cKDTree(places).query(proxies - field.origin)[1]

    def paths(sources):
        return dijkstra(graph, indices=np.unique(sources), min_only=True)

    far = np.sort([paths(at[labels == i]) for i in range(labels.max() + 1)], axis=0)
    if not (far[1] - far[0] > 1e-9).all():  # a label is left to chance
        return
    label = np.argmin([paths(at[labels == i]) for i in range(labels.max() + 1)], axis=0)
    for i in range(labels.max() + 1):
        mine = paths(np.flatnonzero(label == i)) <= overlap
        low, high = solid[mine].min(axis=0), solid[mine].max(axis=0)
        room = solid.min(axis=0), np.array(values.shape) - 1 - solid.max(axis=0)
        first = np.maximum(low - np.maximum(room[0], 2), 0)
        last = np.minimum(high + np.maximum(room[1], 2), np.array(values.shape) - 1)
        box = np.argwhere(np.ones(last - first + 1)) + first
        here = ((solid >= first) & (solid <= last)).all(axis=1)
        own, other = places[mine], places[here & ~mine]
        x = spacing * box
        beyond = cKDTree(own).query(x)[0] - half
        within = np.maximum(cKDTree(other).query(x)[0] - half, 0.0)
        inside = np.zeros(values.shape, dtype=bool)
        inside[tuple(solid[mine].T)] = True
        side = np.where(inside[tuple(box.T)], -within, beyond)
        value = np.maximum(values[tuple(box.T)], side).reshape(last - first + 1)
        yield np.flatnonzero(mine[at] | (labels == i)), first, value


def test_domains_against_a_plain_version(rng):
    """Paths by SciPy, distances by a search; voxels with sides of which no sums are alike."""
    spacing, origin = np.array([0.0101, 0.0087, 0.0113]), np.array([-0.05, -0.05, -0.05])
    x = origin + spacing * np.argwhere(np.ones((19, 15, 34)))
    field = rf.DistanceField(
        boxes_distance(FORK, x).reshape(19, 15, 34).astype(np.float32), origin, spacing
    )
    skin, seen = skin_points(FORK, 0.01), 0
    for n, overlap in ((2, 0.0), (2, 0.0217), (3, 0.0443), (4, 0.0131)) * 6:
        proxies = rng.permutation(skin)[: 3 * n] + rng.uniform(-0.004, 0.004, (3 * n, 3))
        labels = np.argsort(np.argsort(proxies[:, 2])) // 3
        given, found, parts = _core.field_domains(
            field._core, proxies, labels.astype(np.int32), labels.max() + 1, overlap, None, 1
        )
        assert given == overlap
        np.testing.assert_array_equal(found, labels)
        plain_parts = list(plain_domains(field, proxies, labels, overlap))
        for part, plain_part in zip(parts, plain_parts, strict=False):
            np.testing.assert_array_equal(np.flatnonzero(part[0]), plain_part[0])
            np.testing.assert_array_equal(part[2], plain_part[1])
            # distances are rounded to float32
            np.testing.assert_allclose(part[1], plain_part[2], atol=1e-7)
            seen += 1
    assert seen > 20
    # enough for the deepest place, or a tenth of the longest side, or two voxels
    half = 0.5 * np.linalg.norm(spacing)
    solid = np.argwhere(field.values <= half)
    longest = (np.ptp(solid, axis=0) * spacing).max()
    enough = 1.13 * (2 * half - field.values.min())
    wanted = min(enough, max(0.1 * longest, 4 * half))
    assert _core.field_domains(field._core, proxies, None, 2, -1.0, None, 1)[0] == pytest.approx(
        wanted, rel=1e-12
    )
    shallow = rf.DistanceField(np.maximum(field.values, -0.001), origin, spacing)
    enough = 1.13 * (2 * half + 0.001)
    assert enough < 4 * half
    assert _core.field_domains(shallow._core, proxies, None, 2, -1.0, None, 1)[0] == pytest.approx(
        enough, rel=1e-6
    )


def test_proxies_anywhere_belong_to_the_nearest_sample_inside(fork_field, rng):
    solid = np.argwhere(fork_field.values <= 0.5 * 3**0.5 * 0.005)
    inside = fork_field.origin + 0.005 * solid
    places = np.concatenate([
        rng.uniform((-0.1, -0.1, -0.1), (0.2, 0.15, 0.4), (30, 3)),
        [[9.0, 0.0, 0.1], [0.045, 1e4, -7.0], [-1e3, 2e3, 0.0]],
        inside[::97],
    ])  # fmt: skip
    nearest = inside[cKDTree(inside).query(places)[1]]
    labels = (rng.random(len(places)) < 0.5).astype(np.int32)
    found, expected = (
        _core.field_domains(fork_field._core, x, labels, 2, 0.01, None, 1)
        for x in (places, nearest)
    )
    for part, other in zip(found[2], expected[2], strict=True):
        np.testing.assert_array_equal(part[0], other[0])
        np.testing.assert_array_equal(part[1], other[1])


def test_the_nearest_sample_may_be_beside_the_first_box_with_samples():
    """A corner of a cube around a proxy, or what is less far beyond the middle of its face."""
    values = np.full((20, 20, 20), 5.0)
    values[12, 12, 12] = values[13, 10, 10] = -1.0
    field = rf.DistanceField(values, (0, 0, 0), 1.0)
    proxies = np.array([[12, 12, 12], [13, 10, 10], [10, 10, 10.0]])
    labels = np.array([0, 1, 1], dtype=np.int32)
    *_, parts = _core.field_domains(field._core, proxies, labels, 2, 0.0, None, 1)
    np.testing.assert_array_equal(parts[0][0], [1, 0, 0])
    np.testing.assert_array_equal(parts[1][0], [0, 1, 1])


def test_parts_without_proxies_belong_to_all(fork):
    """A field of two boxes, all proxies on one."""
    field = boxes_field([FORK[1], ((0.06, 0.0, 0.1), (0.09, 0.03, 0.2))], 0.005, 0.05)
    proxies = thinned(skin_points(FORK[1:2], 0.01), 12)
    made = rf.DeformedField(field, fork, proxies, domains=2, overlap=0.01)
    for part, _ in made.domains:
        assert part.distance((0.075, 0.015, 0.15)) < -0.01


def test_cutting_can_be_stopped(fork, fork_field, fork_proxies):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rf.DeformedField(fork_field, fork, fork_proxies, domains=2, progress=stop)
