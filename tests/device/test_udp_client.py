"""The sample client as a program: numbers that are none are told in one line."""

from __future__ import annotations

import pytest

from reducedfem import udp_client


@pytest.mark.parametrize(("option", "value"), [("seconds", "nan"), ("high", "inf"), ("low", "nan")])
def test_numbers_that_are_not_finite(capsys, option, value):
    with pytest.raises(SystemExit) as left:
        udp_client.main([f"--{option}", value])
    assert left.value.code == 2
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert last.endswith(f"error: argument --{option}: {value} is not finite")
