"""The bridge over UDP: samples, damage, silence, and which client has the device."""

from __future__ import annotations

import math
import socket
import struct

import numpy as np
import pytest

import reducedfem as rf
from bridges import FORCE, LOW, bridged
from moments import LONG, free_port


def test_samples_come_in_and_wrenches_go_out(ball, raw):
    client = raw()
    with bridged(ball, client) as (made, device):
        assert device.address == client.to
        turned = np.array([0.5, -0.5, 0.5, 0.5]) * (1.0 + 1e-4)  # as floats of a driver are
        client.send(client.packet(7, (0.001, -0.002, 0.014), turned, buttons=0x80000005))
        last = made.run(1).array[-1]
        assert last["device_position"] == pytest.approx([0.001, -0.002, 0.014], abs=0)
        assert last["device_quaternion"] == pytest.approx([0.5, -0.5, 0.5, 0.5], abs=1e-15)
        assert last["buttons"] == 0x80000005
        number, when, echo, force, torque = client.newest()
        assert echo == 7
        assert when == last["time_s"]
        assert force == tuple(last["force"])
        assert torque == tuple(last["torque"])
        assert np.linalg.norm(force) > 0.1
        made.run(3)
        after = client.newest()
        assert after[0] == number + 3
        assert after[2] == 7
        counts = device.counts
        assert (counts.foreign, counts.malformed, counts.unsent) == (0, 0, 0)
        assert counts.accepted == 2
        assert counts.sent == after[0]
        assert "UDP client 127.0.0.1" in made.report().device
    # the last one is zero, after any other
    assert client.newest()[3] == (0.0, 0.0, 0.0)
    assert device.address == ("127.0.0.1", 0)


@pytest.mark.parametrize(
    ("limits", "most", "torque"),
    [
        ({}, 5.0, 0.1),
        ({"max_force": 0.75}, 0.75, 0.1),
        ({"max_force": None, "max_torque": None}, 12.0, math.inf),
    ],
)
def test_forces_of_a_bridge_are_limited(ball, raw, limits, most, torque):
    """A program that renders every packet gets 5 N at most, or the limit set by the user.

    The hand presses by 30 mm: 500 N/m and 2000 N/m in series are 12 N.
    """
    stiff = rf.PenaltyContact(ball.tree, ball.field, 2000.0)
    client = raw()
    with bridged(stiff, client, limits=limits, silence=10.0) as (made, _):
        client.send(client.packet(7, (0.0, 0.0, -0.01)))
        records = made.run(100)
        force = np.linalg.norm(records["force"], axis=1)
        assert force[-1] == pytest.approx(most, rel=1e-6)
        # without a limit the force is larger on the way there, as the object lags
        assert most == 12.0 or force.max() <= most * (1.0 + 1e-12)
        assert client.newest()[3] == tuple(records["force"][-1])
        assert records.flagged("clamped").any() == (most < 12.0)
        # the ball turns freely, so that there is no torque here
        assert made._core.device()[2] == torque


def test_the_newest_of_several_packets_counts(ball, raw):
    client = raw()
    with bridged(ball, client) as (made, device):
        before = device.counts
        for number in (5, 9, 8, 9):
            client.send(client.packet(number, (0.0, 0.0, 0.01 * number)))
        assert made.run(1).array[-1]["device_position"][2] == 0.09
        after = device.counts
        assert after.accepted - before.accepted == 2
        assert after.old - before.old == 2
        # the next cycles read all packets, one cycle not all of them
        for number in range(10, 110):
            client.send(client.packet(number, (0.0, 0.0, 1e-3 * number)))
        z = made.run(2).array["device_position"][:, 2]
        assert z == pytest.approx([0.073, 0.109], abs=1e-12)


def damaged(client):
    good = client.packet(50)
    yield "short", good[:-1]
    yield "long", good + b"\0"
    yield "empty", b""
    yield "magic", b"RFDW" + good[4:]
    yield "version", good[:4] + b"\2\0" + good[6:]
    yield "length", good[:6] + b"\0\0" + good[8:]
    yield "number zero", client.packet(0)
    yield "no rotation", client.packet(50, quaternion=(1.0, 1.0, 0.0, 0.0))
    yield "far", client.packet(50, position=(1e200, 0.0, 0.0))
    for offset in (16, 24, 40, 48, 72, 80, 96, 104, 120):
        for value in (math.nan, math.inf):
            packet = bytearray(good)
            struct.pack_into("<d", packet, offset, value)
            yield f"{value} at {offset}", bytes(packet)


def test_malformed_packets_are_counted_and_skipped(ball, raw):
    client = raw()
    with bridged(ball, client, silence=0.004) as (made, device):
        for name, packet in damaged(client):
            before = device.counts
            client.send(packet)
            made.run(1)
            after = device.counts
            assert after.malformed == before.malformed + 1, name
            assert after.accepted == before.accepted, name
        last = made.run(1)
        assert last.array[-1]["device_position"][2] == LOW
        # none of them counts as a sign of life
        assert last.flagged("silent").all()
        assert not last.array["force"].any()


@pytest.mark.parametrize("ramp", [0.0, 0.02, 0.08])
def test_silence_removes_the_force_and_its_end_fades_it_in(ball, raw, ramp):
    """In 0.05 s at least: the hand has moved meanwhile."""
    client = raw()
    with bridged(ball, client, silence=0.010, ramp=ramp) as (made, _):
        for number in range(2, 90):
            client.send(client.packet(number))
            loud = made.run(1)
        assert loud.array[-1]["force"][2] == pytest.approx(FORCE, rel=1e-6)
        quiet = made.run(15)
        force = quiet.array["force"][:, 2]
        assert force[8] == pytest.approx(FORCE, rel=1e-6)
        assert (force[11:] == 0.0).all()
        assert quiet.flagged("silent")[11:].all()
        assert client.newest()[3] == (0.0, 0.0, 0.0)
        back = []
        for number in range(100, 200):
            client.send(client.packet(number))
            back.append(made.run(1).array["force"][0, 2])
        shares = np.minimum(1e-3 * np.arange(1, 101) / max(ramp, 0.05), 1.0)
        assert back == pytest.approx(FORCE * shares, rel=1e-6)


def test_a_bridge_gives_no_force_after_ten_milliseconds(ball, raw):
    client = raw()
    with bridged(ball, client) as (made, _):
        client.send(client.packet(2))
        made.run(1)
        silent = made.run(15).flagged("silent")
    assert not silent[:9].any()
    assert silent[11:].all()


# ---- which client has the device -----------------------------------------------------------------

AWAY = (0.0, 0.0, 0.5)


def arrives(client):
    """Return whether the system takes a packet to the bridge, rather than refuse it at once."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as knocking:
        knocking.connect(client.to)
        knocking.settimeout(LONG)
        knocking.send(b"")
        try:
            knocking.send(b"")
        except ConnectionRefusedError:
            return False
        return True


def test_packets_of_others_do_not_reach_the_bridge(ball, raw):
    """The system drops packets of other senders; none is left to count or read."""
    first, second = raw(), raw()
    with bridged(ball, first) as (made, device):
        second.to = first.to
        before = device.counts
        for _ in range(1000):
            second.send(second.packet(1000, AWAY))
        first.send(first.packet(7, (0.0, 0.0, 0.015)))
        # of others not even as many as a cycle reads stand before the client's own
        assert made.run(1).array[-1]["device_position"][2] == 0.015
        assert device.counts.foreign == before.foreign == 0
        assert not arrives(first)


def test_packets_beside_those_of_a_new_client_are_skipped(ball, raw):
    """Both may send in the same moment: who was first has the device."""
    first, second = raw(), raw()
    with bridged(ball, first, number=500, limits={"takeover": True}) as (made, device):
        second.to = first.to
        made.run(1100)
        second.send(second.packet(1, AWAY))
        first.send(first.packet(501))
        assert made.run(1).array[-1]["device_position"][2] == AWAY[2]
        assert device.counts.foreign == 1


@pytest.mark.parametrize("word", ["none", "accept", "takeover"])
def test_another_client_needs_the_permission_of_the_session(ball, raw, word):
    first, second = raw(), raw()
    options = {"limits": {"takeover": True}} if word == "takeover" else {}
    with bridged(ball, first, number=500, **options) as (made, device):
        second.to = first.to
        if word == "accept":
            device.accept()
        made.run(990)
        second.send(second.packet(1, AWAY))
        made.run(5)  # less than a second of silence
        assert device.counts.accepted == 1
        first.newest()  # makes room
        made.run(20)
        # the first one hears what goes out until there is another
        assert first.newest()[0] == device.counts.sent
        second.send(second.packet(1, AWAY))
        z = made.run(1).array[-1]["device_position"][2]
        if word == "none":
            assert (z, device.counts.accepted, device.counts.foreign) == (LOW, 1, 0)
            return
        assert z == AWAY[2]
        assert second.newest()[2] == 1
        # from then on the other one has it, and the word was for one
        first.send(first.packet(501))
        made.run(1)
        assert device.counts.accepted == 2
        made.run(1100)
        first.send(first.packet(502))
        z = made.run(1).array[-1]["device_position"][2]
        assert z == (LOW if word == "takeover" else AWAY[2])


def test_the_first_client_may_come_back_before_another(ball, raw):
    """The new client has the device then, from any number on; the permission is used up."""
    first, second = raw(), raw()
    with bridged(ball, first, number=500) as (made, device):
        second.to = first.to
        device.accept()
        made.run(1100)
        first.send(first.packet(1))
        made.run(1)
        second.send(second.packet(1, AWAY))
        made.run(1100)
        second.send(second.packet(1, AWAY))
        assert made.run(1).array[-1]["device_position"][2] == LOW
        assert device.counts.accepted == 2


@pytest.mark.parametrize(
    ("enabled", "ramp"), [(True, 0.0), (True, 0.02), (True, 0.08), (False, 0.02)]
)
def test_another_hand_continues_from_the_pose_of_the_object(ball, raw, enabled, ramp):
    """As after a clutch, however long the session puts up with silence; forces fade in."""
    first, second = raw(), raw()
    options = {"silence": 60.0, "ramp": ramp, "limits": {"takeover": True}}
    with bridged(ball, first, **options) as (made, _):
        last = made.run(1100).array[-1]
        assert last["force"][2] == pytest.approx(FORCE, rel=1e-6)
        if not enabled:
            made.enable(False)
            made.run(30)
        second.to = first.to
        second.send(second.packet(1, AWAY))
        records = made.run(60)
        first_one = records.array[0]
        assert first_one["hand_position"] == pytest.approx(last["object_position"], abs=1e-12)
        # contact pushes the object away from it, and the coupling holds it
        whole = 500.0 * (records["object_position"] - records["hand_position"])
        share = (
            np.minimum(np.arange(1, 61) / (1e3 * max(ramp, 0.05)), 1.0) if enabled else np.zeros(60)
        )
        assert records["force"] == pytest.approx(share[:, None] * whole, abs=1e-9)
        assert np.linalg.norm(whole[-1]) > 0.1
        # the way from one hand to the other is no work
        assert abs(records["energy_j"][-1] - last["energy_j"]) < 1e-3


def test_a_given_client_stays_the_only_one(ball, raw):
    first, second = raw(), raw()
    with bridged(ball, first, only=first.socket.getsockname()) as (made, device):
        second.to = first.to
        with pytest.raises(rf.InputError, match=r"the device was made with client=\.\.\., so"):
            device.accept()
        made.run(1100)
        assert not arrives(first)
        second.send(second.packet(2))
        made.run(1)
        assert (device.counts.accepted, device.counts.foreign) == (1, 0)
        first.send(first.packet(1, AWAY))  # begun anew
        assert made.run(1).array[-1]["device_position"][2] == AWAY[2]


def test_the_end_of_a_client_is_noticed(ball, raw):
    """The network refuses packets; when it works again, the newest ones and the last are sent."""
    first = raw()

    def again():
        place = first.socket.getsockname()
        first.socket.close()
        made.run(5)
        first.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        first.socket.bind(place)
        first.socket.settimeout(LONG)

    with bridged(ball, first) as (made, device):
        assert device.counts.refused == 0
        again()
        assert device.counts.refused > 0
        made.run(1)
        assert first.newest()[0] == made.report().ticks
        first.send(first.packet(2, (0.0, 0.0, 0.015)))
        assert made.run(1).array[-1]["device_position"][2] == 0.015
        again()
    # an error of the network for the packet before does not cost the last one, which is zero
    assert first.newest()[0] == made.report().ticks + 1


@pytest.mark.parametrize("port", [0, None])
def test_a_bridge_keeps_its_port_when_it_leaves_a_client(ball, raw, port):
    first, second = raw(), raw()
    device = rf.UdpDevice(("127.0.0.1", free_port() if port is None else port), wait=LONG,
                          takeover=True)  # fmt: skip
    with bridged(ball, first, device=device) as (made, _):
        where = second.to = device.address
        made.run(1100)
        assert device.address == where
        second.send(second.packet(1, AWAY))
        assert made.run(1).array[-1]["device_position"][2] == AWAY[2]
        assert second.newest()[2] == 1
