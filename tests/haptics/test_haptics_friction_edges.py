"""A tool with edges slides over a flat block: Coulomb's force, and no more.

Points of the block pass under the edge that leads.  There the nearest place of the tool is on its
side, and a wall across the way of the tool would hold it.
"""

from __future__ import annotations

import numpy as np
import pytest

import reducedfem as rf

BLOCK = rf.BoxField((-0.05, -0.05, -0.025), (0.05, 0.05, 0.025))
TOOL = rf.BoxField((-0.01, -0.02, -0.01), (0.01, 0.02, 0.01))
TOP = 0.035  # m, of the tool on the block


@pytest.fixture(scope="module")
def surface():
    return rf.DistanceField.from_field(BLOCK, resolution=32).isosurface()


@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("points", [600, 3000])
@pytest.mark.parametrize(("sampled", "worst"), [(False, 2e-3), (True, 0.03)])
def test_a_tool_slides_over_a_flat_block(surface, mu, points, sampled, worst):
    """The lateral force over the normal one, averaged while the tool moves at 20 mm/s.

    In a sampled field edges are round within a cell, and directions near them, of differences
    over a cell, are inclined.
    """
    tree = rf.PointTree(rf.Pointshell.from_surface(surface, points, levels=3))
    tool = rf.DistanceField.from_field(TOOL, resolution=64) if sampled else TOOL
    above, on = (0.0, 0.0, TOP + 0.003), (0.0, 0.0, TOP - 0.002)
    hand = rf.ReplayDevice([0.0, 0.1, 0.4, 1.4], [above, on, on, (0.02, 0.0, TOP - 0.002)])
    session = rf.HapticSession(
        rf.FrictionContact(tree, tool, mu, budget_us=1e6), hand, budget_us=0.0,
        coupling=rf.VirtualCoupling(500.0, torsional_stiffness=5.0),
    )  # fmt: skip
    force = session.run(seconds=1.4).array["contact_force"][700:]
    session.close()
    ratio = np.hypot(force[:, 0], force[:, 1]) / force[:, 2]
    assert force[:, 2].min() > 0.5
    assert ratio.mean() == pytest.approx(mu, abs=worst)
    if not sampled:
        assert ratio.max() < mu + worst
