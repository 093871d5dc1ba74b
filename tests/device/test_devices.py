"""All devices: axes, velocities, libraries that are missing, and what is there."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import threading

import numpy as np
import pytest

import ckernels
import reducedfem as rf
from bridges import session
from ckernels import structure
from drivers import let_go
from moments import free_port
from places import ROOT
from reducedfem import _core, cli
from turns import rotation


@pytest.mark.parametrize(
    ("device", "x", "y", "z"),
    [
        (rf.SpaceMouse, (1, 0, 0), (0, 1, 0), (0, 0, 1)),
        # towards the user, to the right, up
        (rf.ForceDimension, (0, -1, 0), (1, 0, 0), (0, 0, 1)),
        # to the right, up, towards the user
        (rf.OpenHaptics, (1, 0, 0), (0, 0, 1), (0, -1, 0)),
    ],
)
def test_devices_report_their_axes(device, x, y, z):
    found = rotation(device().alignment)
    assert np.allclose(found, np.transpose([x, y, z]), rtol=0, atol=1e-15)


# ---- velocities ----------------------------------------------------------------------------------


Sample = structure(
    "Sample", position=ctypes.c_double * 3, quaternion=ctypes.c_double * 4,
    velocity=ctypes.c_double * 3, turn=ctypes.c_double * 3, buttons=ctypes.c_uint32,
    count=ctypes.c_uint64, other=ctypes.c_bool,
)  # fmt: skip
CoreError = structure("CoreError", status=ctypes.c_int, text=ctypes.c_char * 512)


def test_samples_have_velocities_in_si_units(dhd, hd, raw, tmp_path):
    sources = ["base/alloc.c", "base/status.c", "base/clock_rt.c", "device/device.c"]
    sources += ["device/udp.c", "device/udp_rt.c", "device/library.c"]
    sources += [f"device/{name}{kind}.c" for name in ("force_dimension", "openhaptics")
                for kind in ("", "_rt")]  # fmt: skip
    places = [ROOT / "csrc" / name for name in sources]
    places.append(ROOT / "tests/support/device_samples.c")
    library = ckernels.build("device_samples", places, tmp_path)

    def sample(name, argument):
        out, err = Sample(), CoreError()
        found = library[f"sample_of_{name}"](argument, ctypes.byref(out), ctypes.byref(err))
        assert found == 0, err.text
        assert out.count == 1
        return [*out.velocity, *out.turn]

    dhd.reals("velocity", 6)[:] = [0.1, 0.2, 0.3, 4.0, 5.0, 6.0]
    assert sample("dhd", str(dhd.path).encode()) == [0.1, 0.2, 0.3, 4.0, 5.0, 6.0]
    dhd.ints(turns=0)  # devices without wrist tell none
    assert sample("dhd", str(dhd.path).encode()) == [0.1, 0.2, 0.3, 0.0, 0.0, 0.0]
    hd.reals("velocity", 6)[:] = [100.0, 200.0, 300.0, 4.0, 5.0, 6.0]
    values = sample("hd", str(hd.path).encode())
    assert values == pytest.approx([0.1, 0.2, 0.3, 4.0, 5.0, 6.0], rel=1e-15)
    hd.ints(misused=hd.int("misused") - 1)  # a frame outside of the scheduler, as is meant here
    client = raw()
    client.to = ("127.0.0.1", free_port())
    packet = bytearray(client.packet(1))
    struct.pack_into("<6d", packet, 80, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    done = threading.Event()

    def knock():
        while not done.is_set():
            client.send(bytes(packet))
            done.wait(0.005)

    knocking = threading.Thread(target=knock)
    knocking.start()
    try:
        assert sample("udp", client.to[1]) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    finally:
        done.set()
        knocking.join()


# ---- missing libraries ---------------------------------------------------------------------------


def test_missing_and_wrong_libraries_are_reported(ball, built, tmp_path, monkeypatch):
    for kind, variable, name, macro, symbol in (
        (rf.ForceDimension, "REDUCEDFEM_DHD", "mock_dhd", "WITHOUT_ERROR_TEXT",
         "dhdErrorGetLastStr"),
        (rf.OpenHaptics, "REDUCEDFEM_HD", "mock_hd", "WITHOUT_DISABLE", "hdDisable"),
    ):  # fmt: skip
        text = tmp_path / "text.so"
        text.write_text("no library")
        for library, message in (
            (tmp_path / "none.so", "none.so: cannot open shared object file: No such file"),
            (text, "text.so: "),
            (built(name, macro), f"undefined symbol: {symbol}"),
        ):
            made = session(ball, kind(library=library))
            with pytest.raises(rf.DeviceError, match=message):
                made.start()
            assert made.report().phase == "ready"
            made.close()
            monkeypatch.setenv(variable, str(library))
            made = session(ball, kind())
            with pytest.raises(rf.DeviceError, match=message):
                made.start()
            made.close()
        with pytest.raises(rf.InputError, match="library has 600 bytes, at most 511"):
            kind(library="x" * 600)
        with pytest.raises(rf.InputTypeError, match="^library must be a str or a Path, got int"):
            kind(library=3)
    with pytest.raises(rf.InputError, match="^max_force must be finite and positive, got 0$"):
        rf.ForceDimension(max_force=0.0)
    with pytest.raises(rf.InputError, match="^max_torque must be finite and positive, got -1$"):
        rf.ForceDimension(max_torque=-1.0)
    with pytest.raises(rf.InputTypeError, match="^socket must be a str or a Path, got int"):
        rf.SpaceMouse(socket=3)
    with pytest.raises(rf.InputTypeError, match="name must be a str or None, got int"):
        rf.OpenHaptics(3)


# ---- what is there -------------------------------------------------------------------------------


def test_probes_report_searched_names_and_reasons(monkeypatch):
    monkeypatch.setenv("SPNAV_SOCKET", "/nowhere/spnav.sock")
    monkeypatch.delenv("REDUCEDFEM_DHD", raising=False)
    monkeypatch.setenv("REDUCEDFEM_HD", "/nowhere/libHD.so")
    udp, mouse, force, haptics = rf.probe_devices()
    assert not any(probe.found for probe in (udp, mouse, haptics))
    assert udp.looked_for == ("packets at 127.0.0.1:47815 (UDP)",)
    source = "given by the environment variable SPNAV_SOCKET"
    assert mouse.looked_for == (f"socket /nowhere/spnav.sock of spacenavd ({source})",)
    assert "No such file" in mouse.detail
    default = "default; the environment variable REDUCEDFEM_DHD is not set"
    assert force.looked_for[0] == f"library libdhd.so.3 ({default})"
    assert haptics.looked_for == (
        f"library /nowhere/libHD.so ({source.replace('SPNAV_SOCKET', 'REDUCEDFEM_HD')})",
    )
    assert "/nowhere/libHD.so: cannot open shared object file" in haptics.detail
    monkeypatch.setenv("SPNAV_SOCKET", "x" * 300)
    assert "socket has 300 bytes" in rf.probe_devices()[1].detail


def test_names_that_are_not_text_are_searched_for(monkeypatch, tmp_path):
    """Systems have such names; the names that were searched for can be printed."""
    place = os.fsencode(tmp_path) + b"/\xff"
    for variable in ("SPNAV_SOCKET", "REDUCEDFEM_DHD", "REDUCEDFEM_HD"):
        monkeypatch.setenv(variable, os.fsdecode(place))
    for probe in rf.probe_devices()[1:]:
        assert not probe.found
        assert str(tmp_path) + r"/\xff" in probe.looked_for[0]
        assert r"/\xff: " in probe.detail
        str(probe).encode()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(place)
        server.listen(1)
        assert rf.probe_devices()[1].found
    for name, what in (("a\0b", "null character"), ("\ud800", "lone surrogate")):
        with pytest.raises(rf.InputError, match=f"name has a {what}"):
            rf.OpenHaptics(name)


def test_probes_find_devices_and_do_not_open_them(ball, dhd, hd, tmp_path, monkeypatch):
    monkeypatch.setenv("REDUCEDFEM_DHD", str(dhd.path))
    monkeypatch.setenv("REDUCEDFEM_HD", str(hd.path))
    monkeypatch.setenv("SPNAV_SOCKET", str(tmp_path / "spnav.sock"))
    dhd.reals("wrench", 6)[:] = 0.0
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(tmp_path / "spnav.sock"))
        server.listen(1)
        _, mouse, force, haptics = rf.probe_devices()
    assert mouse.found
    assert mouse.detail == "SpaceMouse: measures 6 degrees of freedom, renders no forces"
    assert force.found
    assert force.detail == (
        "Force Dimension omega.7: measures 6 degrees of freedom, renders forces in 6, up to 5 N, "
        "up to 0.05 N m"
    )
    assert haptics.found
    assert haptics.detail == (
        "OpenHaptics default device: measures 6 degrees of freedom, renders forces in 3, up to "
        "3.3 N, up to 500 N/m, 1000 cycles per second"
    )
    for mock in (dhd, hd):
        assert not mock.int("was_enabled")
    assert let_go(dhd)
    # a device in a session is not probed
    device = rf.ForceDimension()
    made = session(ball, device)
    with pytest.raises(rf.InputError, match="the device belongs to a session"):
        _core.probe_device(device._core)
    made.close()
    assert _core.probe_device(device._core)[0] == "Force Dimension omega.7"
    session(ball, device).close()
    with pytest.raises(rf.InputTypeError, match="devices are made by functions"):
        _core.Device()
    with pytest.raises(rf.InputTypeError, match="the device is not a UdpDevice"):
        _core.udp_counts(device._core)
    with pytest.raises(rf.InputError, match="the device is not a UdpDevice"):
        _core.udp_accept(device._core)


def test_the_command_lists_devices(capsys, monkeypatch):
    monkeypatch.setenv("SPNAV_SOCKET", "/nowhere/spnav.sock")
    assert cli.main(["haptics", "--probe"]) == 0
    out = capsys.readouterr().out
    for text in (
        "UdpDevice: not found",
        "SpaceMouse: not found",
        "searched for: socket /nowhere/spnav.sock of spacenavd (given by the environment "
        "variable SPNAV_SOCKET)",
        "ForceDimension: ",
        "OpenHaptics: ",
    ):
        assert text in out
