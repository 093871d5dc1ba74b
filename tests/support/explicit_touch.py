"""Plain Python of explicit bodies that a hand touches, and sessions of a block."""

from __future__ import annotations

import numpy as np

import reducedfem as rf
from shapes import box_hexes

CYCLE = 1e-3
SIZE, RADIUS = (0.06, 0.06, 0.04), 0.015


class PlainSecant:
    """Local stiffness of contact from states, as csrc/touch/explicit_secant.h defines it.

    `take` returns what is shown of the stiffness measured.
    """

    def __init__(self, noise, memory, most_open=4, sticks_after=10):
        self.noise, self.memory, self.most_open = noise, memory, most_open
        self.sticks_after = sticks_after
        self.place = self.force = None
        self.clear()
        self.changed = self.missed = 0.0

    def clear(self):
        self.states, self.open, self.held = 0, 0, 0
        self.stiffness = self.shown = np.zeros((3, 3))
        self.towards = np.zeros(3)
        self.ways, self.changes = np.zeros((3, 3)), np.zeros((3, 3))

    def take(self, touching, place, force, normal, held):
        if not touching:
            self.open += 1
            if self.states > 0 and self.open < self.most_open:
                self.stiffness = self.shown = np.zeros((3, 3))
                self.held = 0
                return self.shown
            self.clear()
            self.place, self.force = place, force
            return self.shown
        if self.states == 0:
            self.depth = np.inf if self.place is None else 0.0
        if np.any(force):
            self.towards = force / np.linalg.norm(force)
        if self.place is not None:
            self.depth = max(self.depth - (place - self.place) @ self.towards, 0.0)
        self.states, self.open = self.states + 1, 0
        self.held = self.held + 1 if held else 0
        if self.states > 1:
            d, y = place - self.place, self.force - force
            kept = 1.0 - (1.0 - self.memory) * (d @ d) / (d @ d + self.noise**2)
            self.changed += y @ y
            self.missed += np.sum((y - self.shown @ d) ** 2)
            self.ways = kept * self.ways + np.outer(d, d)
            self.changes = kept * self.changes + np.outer(y, d)
            inverse = np.linalg.inv(self.ways + self.noise**2 * np.eye(3))
            whole = self.ways @ inverse @ self.changes @ inverse
            most = 2.0 * np.linalg.norm(force) / self.depth if self.depth > self.noise else 0.0
            self.stiffness = clipped(0.5 * (whole + whole.T), most)
            used = self.stiffness
            if self.held < self.sticks_after:
                size = np.linalg.norm(normal)
                n = normal / size if size > 0.0 else 0.0 * normal
                used = (n @ self.stiffness @ n) * np.outer(n, n)
            self.shown = clipped(0.75 * self.shown + 0.25 * used, most)
        self.place, self.force = place, force
        return self.shown


class PlainDisplay:
    """Forces of a slower simulation at the rate of the hand, by their definition."""

    def __init__(self, local, period, friction):
        self.local, self.period, self.friction = local, period, friction
        zero = np.zeros(3)
        zero = zero, zero, zero, np.zeros((3, 3))
        self.before, self.now, self.begun = zero, zero, 0.0
        self.waiting = self.newest = None

    def take(self, time, place, force, normal, stiffness):
        """Take a state: the time and place of its hand."""
        self.newest = time, (place, force, normal, stiffness if self.local else np.zeros((3, 3)))

    def advance(self, time, place):
        if self.waiting and time > self.waiting[0] + self.period - 0.5 * CYCLE:
            normal, stiffness = self.mixed(time, 2), self.mixed(time, 3)
            self.before = place, self.shown(time, place), normal, stiffness
            self.now, self.begun, self.waiting = self.waiting[1], time, None

    def show(self, time, place):
        self.advance(time, place)
        if not self.waiting:
            self.waiting, self.newest = self.newest, None
        self.advance(time, place)
        return self.shown(time, place)

    def shown(self, time, place):
        force, towards, normal = self.law(time, place), self.mixed(time, 1), self.mixed(time, 2)
        if not self.local:
            return force
        if np.any(normal):
            size = np.linalg.norm(normal)
            along = np.outer(normal, normal) / size**2
            held, across = towards - along @ towards, force - along @ force
            most = max(self.friction * size, np.linalg.norm(held))
            force = along @ force + shortened(across, most)
        return towards + shortened(force - towards, np.linalg.norm(towards))

    def part(self, time):
        return min((time - self.begun) / self.period, 1.0)

    def mixed(self, time, k):
        part = self.part(time)
        return (1 - part) * self.before[k] + part * self.now[k]

    def law(self, time, x):
        a, b = (one[1] - one[3] @ (x - one[0]) for one in (self.before, self.now))
        part = self.part(time)
        return (1 - part) * a + part * b


def clipped(matrix, most):
    value, vector = np.linalg.eigh(matrix)
    return (vector * np.clip(value, 0.0, most)) @ vector.T


def shortened(vector, most):
    size = np.linalg.norm(vector)
    return vector * (most / size) if size > most else vector


def block(young=1e4, cells=(3, 3, 2), size=SIZE, **options):
    nodes, elements = box_hexes(*cells, size)
    return rf.Solid(
        rf.Mesh(nodes, elements), rf.StVK(young, 0.3, 1000.0), fixed=nodes[:, 2] < 1e-9, **options
    )


def touched(solid=None, steps=2, friction=0.3, field=None, **options):
    """Return a simulation in contact with a tool, with so many steps in a cycle, and the tool."""
    field = rf.SphereField([0.0, 0.0, 0.0], RADIUS) if field is None else field
    tool = rf.RigidProxy(field, friction=friction)
    solid = block() if solid is None else solid
    sim = rf.CentralDifferences(solid, CYCLE / steps, (5.0, 0.0), contact=tool, **options)
    return sim, tool


def above(*places):
    """Return positions by offsets from the place at which the ball touches a node of the block."""
    start = np.array([SIZE[0] * 2 / 3, SIZE[1] * 2 / 3, SIZE[2] + RADIUS])
    return start + np.array(places)


def session(sim, device, **options):
    return rf.HapticSession(sim, device, **{"ramp": 0.0, "rate": 1.0 / CYCLE} | options)
