"""Command lines of experiments: experiments/command.py."""

from __future__ import annotations

import command
import pytest

import reducedfem as rf


def given(folder, *words):
    parser = command.options("/any/place/trial.py", "A trial.", "5 s")
    return parser.parse_args(["--out", str(folder), *words])


def test_the_plot_is_written_to_a_new_folder_and_named(capsys, tmp_path):
    options = given(tmp_path / "new" / "deep")
    assert command.run(lambda a: a.plot.write_text("plot") and None, options) == 0
    path = tmp_path / "new" / "deep" / "trial.png"
    assert path.read_text() == "plot"
    assert capsys.readouterr().out == f"\nplot: {path}\n"


def test_missed_marks_end_with_1(capsys, tmp_path):
    assert command.run(lambda a: [], given(tmp_path)) == 0
    assert command.run(lambda a: ["too low", "too high"], given(tmp_path)) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["trial.py: mark missed: too low", "trial.py: mark missed: too high"]


@pytest.mark.parametrize("error", [rf.InputError("r is 0"), OSError("r is 0")])
def test_errors_are_one_line(error, capsys, tmp_path):
    def fail(arguments):
        raise error

    assert command.run(fail, given(tmp_path)) == 1
    printed = capsys.readouterr()
    assert printed.err == "trial.py: r is 0\n"
    assert printed.out == ""


def test_a_file_in_place_of_the_folder_ends_before_the_work(capsys, tmp_path):
    taken = tmp_path / "file"
    taken.write_text("")
    assert command.run(lambda a: pytest.fail("it has begun"), given(taken)) == 1
    error = capsys.readouterr().err
    assert error.startswith("trial.py: ")
    assert str(taken) in error


def test_help_has_the_text_and_the_time(capsys):
    with pytest.raises(SystemExit):
        given("out", "--help")
    text = capsys.readouterr().out
    assert text.startswith("usage: trial.py")
    assert "A trial." in text
    assert text.endswith("Takes 5 s on two cores.\n")


def test_one_thread_ends_with_the_block(set_threads):
    @command.one_thread()
    def fail():
        assert rf.threads() == 1
        raise OSError("stop")

    set_threads(2)
    with pytest.raises(OSError, match="stop"):
        fail()
    assert rf.threads() == 2


def test_numbers_out_of_range_are_refused(monkeypatch, capsys):
    parser = command.options("/any/place/trial.py", "A trial.")
    parser.add_argument("--depth", type=float, default=1.0)
    parser.add_argument("--frames", type=int, default=2)

    def parse(*words):
        monkeypatch.setattr("sys.argv", ["trial.py", *words])
        return command.parse(parser, positive=("depth",), frames=2)

    assert (parse().depth, parse("--frames", "3").frames) == (1.0, 3)
    for words, message in (
        (("--depth", "0"), "--depth must be positive, got 0"),
        (("--depth", "nan"), "--depth must be positive, got nan"),
        (("--frames", "1"), "--frames must be 2 or more, got 1"),
    ):
        with pytest.raises(SystemExit):
            parse(*words)
        assert message in capsys.readouterr().err
