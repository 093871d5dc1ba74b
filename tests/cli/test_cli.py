"""The command line: what it makes, what it says, how it leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

import reducedfem as rf
from commands import misused, run, shell
from reducedfem import cli, samples
from reducedfem.base.console import Console, bytes_text, count_text, time_text

# --- help and wrong use ---------------------------------------------------------------


def test_help(capsys):
    status, out, err = run(capsys, "--help")
    assert (status, err) == (0, "")
    for command in ("demo", "reduce", "info", "simulate"):
        assert command in out
        status, text, err = run(capsys, command, "--help")
        assert (status, err) == (0, "")
        assert "examples:\n  reducedfem " + command in text
        assert f"usage: reducedfem {command}" in text


def test_help_shows_every_default(capsys):
    """Every option with a value shows its default in the help, or is required."""
    parser = cli._parser()
    (commands,) = (a for a in parser._actions if a.choices)
    for one in commands.choices.values():
        for action in one._actions:
            if action.nargs == 0 or not action.option_strings or action.required:
                continue
            if action.default is not None:
                assert "default" in action.help, action.option_strings


def test_examples_in_the_help_are_accepted():
    """Each example parses; the files that it names need not exist."""
    import shlex

    parser = cli._parser()
    (commands,) = (a for a in parser._actions if a.choices)
    count = 0
    for one in commands.choices.values():
        text = one.epilog.partition("examples:\n")[2].replace("\\\n", " ")
        for line in text.splitlines():
            words = shlex.split(line)
            assert words[0] == "reducedfem"
            assert hasattr(parser.parse_args(words[1:]), "run")
            count += 1
    assert count >= 10


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"reducedfem {rf.__version__}\n", "")


def test_without_a_command(capsys):
    misused(capsys, match="COMMAND")
    misused(
        capsys, "dance", match="'dance' is not one of demo, reduce, info, simulate, view, haptics"
    )
    misused(capsys, "inf", match="did you mean 'info'")
    misused(capsys, "--versoin", match="unrecognized arguments: --versoin; did you mean '--vers")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["reduce"], "required"),
        (["reduce", "a.obj", "-o", "m", "--young", "-1"], "positive"),
        (["reduce", "a.obj", "-o", "m", "--young", "stiff"], "not a number"),
        (["reduce", "a.obj", "-o", "m", "--young", "nan"], "not finite"),
        (["reduce", "a.obj", "-o", "m", "--density", "0"], "positive"),
        (["reduce", "a.obj", "-o", "m", "--poisson", "0.5"], "below 0.5"),
        (["reduce", "a.obj", "-o", "m", "--resolution", "0"], "1 or more"),
        (["reduce", "a.obj", "-o", "m", "--resolution", "1.5"], "whole number"),
        (["reduce", "a.obj", "-o", "m", "--resolution", "2049"], "2,048 or less"),
        (["simulate", "m", "--force", "1", "2", "3", "--newton-max", "1001"], "1,000 or less"),
        (["reduce", "a.obj", "-o", "m", "--expand", "0.5"], "1 or more"),
        (["reduce", "a.obj", "-o", "m", "--quadrature", "5"], "5 is not one of 2, 3, 4"),
        (["reduce", "a.obj", "-o", "m", "--fix", "w<1"], "form"),
        (["reduce", "a.obj", "-o", "m", "--fix", "x<one"], "number"),
        (["reduce", "a.obj", "-o", "m", "--fix", "x<1 y<2"], "'x<1 y<2' must .*; commas separate"),
        (["reduce", "a.obj", "-o", "m", "--fix", ""], "form"),
        (["reduce", "a.obj", "-o", "m", "--fix-fraction", "q", "0.1"], "x- x\\+"),
        (["reduce", "a.obj", "-o", "m", "--fix-fraction", "x-", "2"], "between 0 and 1"),
        (["reduce", "a.obj", "-o", "m", "--fix-fraction", "-y", "0.1"], "'-y' is not one of x- x"),
        (
            ["reduce", "a.obj", "-o", "m", "--fix-fraction", "y-"],
            "expected 2 arguments, SIDE PART, separated by blanks$",
        ),
        (["reduce", "a.obj", "-o", "m", "--fix", "-x<1"], "'-x<1' must have the form"),
        (
            ["simulate", "m", "--output", "-tip.csv"],
            "expected one argument; a value with a dash is written --output=-tip.csv$",
        ),
        (["simulate", "m", "--output", "--plot", "p.png"], "--output: expected one argument$"),
        (
            ["reduce", "a.obj", "--out", "m"],
            "required: -o/--output; '--out' is not an option; did you mean '--output'",
        ),
        (["reduce", "--", "a.obj"], "required: -o/--output$"),
        (["reduce", "a.obj", "-o", "m", "--threads", "0"], "1 or more"),
        (["reduce", "a.obj", "-o", "m", "--threads", "999"], "--threads: must be 256 or less"),
        (["reduce", "a.obj", "-o", "m", "-r", "257"], "-r/--coordinates: must be 256 or less"),
        (
            ["reduce", "a.obj", "-o", "m", "--fix", "x<1", "-k", "4", "-r", "15"],
            "-r/--coordinates 15 is more than the 14 that 4 modes .* raise -k/--modes",
        ),
        (
            ["reduce", "a.obj", "-o", "m", "--fix", "x<1", "-r", "231"],
            "-r/--coordinates 231 is more than the 230 that 20 modes",
        ),
        (["reduce", "a.obj", "-o", "m", "--res", "3"], "unrecognized .*mean '--resolution'"),
        (["reduce", "a.obj", "-o", "m", "--yuong=3"], "unrecognized .*mean '--young'"),
        (["reduce", "a.obj", "-o", "m", "left"], "unrecognized arguments: left$"),
        (["reduce", "a.obj", "-o", "m", "--free", "--fix", "x<1"], "--free means no fixed nodes"),
        (["reduce", "a.obj", "-o", "m"], "choose the fixed nodes, .* --fix 'x<0.01' .in metres"),
        (["reduce", "a.obj", "-o", "m", "--strain-rate", "0"], "must be positive, got 0"),
        (["reduce", "a.obj", "-o", "m", "--viscosity", "1"], "expected 2 arguments"),
        (["reduce", "a.obj", "-o", "m", "--viscosity", "1", "inf"], "not finite"),
        (
            ["reduce", "a.obj", "-o", "m", "--free", "--viscosity", "1", "-1"],
            "--viscosity 1 -1 would add energy",
        ),
        (
            ["reduce", "a.obj", "-o", "m", "--free", "--viscosity", "-1", "1.4"],
            "PSI and 3 PHI [+] 2 PSI must be 0 or more",
        ),
        (
            ["reduce", "a.obj", "-o", "m", "--free", "--viscosity", "1", "1", "--strain-rate", "1"],
            "--strain-rate and --viscosity both set the damping: give one of them",
        ),
        (
            ["reduce", "a.obj", "-o", "m", "--free", "-r", "129", "--viscosity", "1", "1"],
            "-r/--coordinates must be 128 or less with strain-rate damping, got 129",
        ),
        (["info"], "name a file"),
        (["simulate", "m"], "give --force or --gravity"),
        (["simulate", "m", "--force", "1", "2"], "3 arguments"),
        (["simulate", "m", "--force", "1", "2", "inf"], "finite"),
        (["simulate", "m", "--force", "1", "2", "3", "--dt", "0"], "positive"),
        (
            ["simulate", "m", "--force", "1", "2", "3", "--steps", "2000000000"],
            "--steps: must be 10,000,000 or less, got 2000000000",
        ),
        (["simulate", "m", "--force", "1", "2", "3", "--damping", "-1", "0"], "0 or more"),
        (["simulate", "m", "--force", "1", "2", "3", "--output", "t.txt"], r"\.csv or \.npz"),
        (["demo", "--surface", "fork"], "'fork' is not one of spoon, bridge, hose"),
        (["demo", "--surface", "spon"], "did you mean 'spoon'"),
        (["haptics", "peg", "--mu", "0.3"], "--mu 0.3; did you mean '--friction'"),
        (["haptics", "peg", "--duration", "3"], "--duration 3; did you mean '--seconds'"),
        (["haptics", "peg", "--friction", "1e12"], r"--friction: must be 0 to 1e\+09, got 1e12"),
    ],
)
def test_wrong_use(capsys, monkeypatch, tmp_path, arguments, match):
    monkeypatch.chdir(tmp_path)
    misused(capsys, *arguments, match=match)
    assert os.listdir(tmp_path) == []


# --- a process of its own ----------------------------------------------------------------------


def test_module_and_streams(model, tmp_path):
    done = shell("info", model)
    assert (done.returncode, done.stderr) == (0, "")
    assert "reduced model" in done.stdout
    done = shell("info", tmp_path / "none.safetensors")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("reducedfem: error: ")
    assert done.stderr.count("\n") == 1
    done = shell("info", "--nonsense")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_closed_pipe_ends_without_a_traceback(model):
    done = subprocess.run(
        f"{sys.executable} -m reducedfem info {model} {model} | head -n 1",
        shell=True, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1


def test_interrupt_leaves_one_line_and_no_file(tmp_path):
    """Ctrl-C in the middle of a long computation."""
    process = subprocess.Popen(
        [sys.executable, "-m", "reducedfem", "reduce", "bridge", "-o", str(tmp_path / "m"),
         "--fill", "--fix", "z<0.01", "--resolution", "48", "-k", "20", "-r", "60"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # shells start background jobs with the signal ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdout is not None
    # wait until the long part has begun
    for line in process.stdout:
        if "fixed" in line:
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 130
    assert err.endswith("reducedfem: interrupted\n")
    assert "Traceback" not in err
    assert os.listdir(tmp_path) == []


def test_no_file_is_both_read_and_written(tmp_path, capsys):
    surface = tmp_path / "s.obj"
    rf.read_surface(samples.path("spoon")).write(surface)
    before = surface.read_bytes()
    same = str(tmp_path / "p.png")
    for arguments, names in (
        (["reduce", str(surface), "-o", str(surface), "--fix", "x<0.01"], "the input and --output"),
        (
            ["simulate", str(surface), "--force", *"001", "--plot", same, "--picture", same],
            "--plot and --picture",
        ),  # fmt: skip
    ):
        with pytest.raises(SystemExit) as stopped:
            cli.main(arguments)
        assert stopped.value.code == 2
        assert f"{names} are the same file" in capsys.readouterr().err
    assert surface.read_bytes() == before


def test_a_model_may_have_the_name_of_a_sample(tmp_path, capsys, monkeypatch):
    """The sample is no file; once there is a file of that name, it comes first."""
    monkeypatch.chdir(tmp_path)
    arguments = ("reduce", "hose", "-o", "hose", "--fix-fraction", "x-", 0.1, "--resolution", 12)
    assert run(capsys, *arguments, "-k", 2)[0] == 0
    status, out, _ = run(capsys, "info", "hose")
    assert (status, out.splitlines()[0]) == (0, "hose: reduced model")
    status, _, err = run(capsys, *arguments)
    assert status == 2
    assert "the input and --output are the same file, 'hose'" in err


@pytest.mark.parametrize("option", ["plot", "picture"])
def test_a_picture_of_no_known_kind(capsys, model, tmp_path, option):
    """It is wrong use, like the wrong suffix of a trajectory, reported before any computation."""
    path = tmp_path / "x.foo"
    misused(
        capsys, "simulate", model, "--force", 0, 0, -1, f"--{option}", path,
        match=rf"--{option}: cannot write '.*x\.foo': a picture goes to \.png",
    )  # fmt: skip
    assert not path.exists()


def test_a_trajectory_of_no_known_kind(capsys, model, tmp_path):
    path = tmp_path / "x.foo"
    misused(
        capsys, "simulate", model, "--force", 0, 0, -1, "--output", path,
        match=r"--output: a trajectory goes to \.csv or \.npz, got '.*x\.foo'",
    )  # fmt: skip
    assert not path.exists()


def test_without_matplotlib(model, tmp_path):
    """The message names the extra, before any time is spent."""
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from reducedfem.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    for arguments in (
        ["demo", "--out", str(tmp_path / "demo")],
        ["simulate", str(model), "--force", "0", "0", "1", "--plot", str(tmp_path / "p.png")],
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True, text=True, check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 1
        assert "pip install 'reducedfem[plot]'" in done.stderr
        assert done.stderr.count("\n") == 1
    assert os.listdir(tmp_path) == []


# --- what is printed -----------------------------------------------------------------------------


class _Terminal:
    def __init__(self, watched: bool) -> None:
        self.text, self._watched = "", watched

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return self._watched


def test_bars_appear_on_terminals_only(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    terminal = _Terminal(True)
    with Console(stream=terminal).stage("work") as stage:
        for done in range(1, 11):
            now[0] += 0.2
            stage.show(done, 10)
        stage.result = "done"
    assert terminal.text.count("\r") == 12  # at the start, ten times, at the end
    assert "[##########..........]    1.0 s" in terminal.text
    assert terminal.text.endswith("[####################]    2.0 s  done\n")
    # into a file: one line, no carriage returns
    record = _Terminal(False)
    with Console(stream=record).stage("work") as stage:
        stage.show(1, 2)
    assert record.text.count("\n") == 1
    assert "\r" not in record.text


def test_texts():
    assert count_text(1, "node") == "1 node"
    assert count_text(1234, "vertex", "vertices") == "1,234 vertices"
    assert [bytes_text(n) for n in (12, 1234, 5.6e6, 7e9)] == ["12 bytes", "1.23 kB", "5.6 MB",
                                                               "7 GB"]  # fmt: skip
    assert [time_text(s) for s in (12e-6, 0.0123, 4.56)] == ["12 us", "12.3 ms", "4.6 s"]
