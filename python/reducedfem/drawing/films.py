"""Files of moving pictures: GIF by Pillow, MP4 by the program ffmpeg."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reducedfem.errors import FileFormatError, MissingPackageError
from reducedfem.io.atomic import as_path, replacing

__all__ = ["check_film", "pillow", "write_film"]

Picture = NDArray[np.uint8]

_SUFFIXES = (".gif", ".mp4")
_MOST_COLOURS = 256  # of a GIF
_SAMPLES = 12  # pictures from which these colours are chosen
_COARSER = 2  # bits by which colours differ that count as distinct
_BITS = 0.3  # of an MP4, for each pixel


def pillow(purpose: str) -> Any:
    """Return the module PIL.Image; refuse if Pillow is not installed."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingPackageError(
            f"{purpose} needs Pillow, which is not installed: pip install 'reducedfem[plot]'"
        ) from error
    return Image


def _ffmpeg() -> str:
    """Return the path of the program ffmpeg; refuse if there is no such program."""
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise MissingPackageError(
            ".mp4 files need the program ffmpeg, which is not installed: apt-get install ffmpeg, "
            "or pip install 'reducedfem[film]', which contains it; or write a .gif file"
        ) from error
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def check_film(path: str | os.PathLike[str]) -> None:
    """Refuse the name of a film with an unknown suffix, or a missing writer, before long work.

    Parameters
    ----------
    path
        Name of the file.

    Raises
    ------
    MissingPackageError
        Pillow or ffmpeg is not installed.
    FileFormatError
        The suffix is neither ``.gif`` nor ``.mp4``.
    """
    suffix = as_path(path).suffix.lower()
    if suffix not in _SUFFIXES:
        raise FileFormatError(
            f"cannot write {str(path)!r}: an animation goes to .gif, or to .mp4 by ffmpeg"
        )
    if suffix == ".gif":
        pillow("a .gif file")
    else:
        _ffmpeg()


def _gif(path: Path, pictures: list[Picture], fps: float) -> None:
    Image = pillow("a .gif file")
    # one palette for all pictures, so that colours do not flicker; it has the exact colour of the
    # corner, usually the background, so that it has no grain, and covers all colours, not those of
    # large areas only
    some = np.concatenate(pictures[:: max(1, len(pictures) // _SAMPLES)]).reshape(-1, 3)
    corner = pictures[0][0, 0]
    present = np.zeros((1 << (8 - _COARSER),) * 3, bool)
    present[tuple((some >> _COARSER).T)] = True
    distinct = (np.argwhere(present) << _COARSER).astype(np.uint8)
    colours = Image.fromarray(distinct[None]).quantize(_MOST_COLOURS - 1).getpalette()[:765]
    palette = Image.new("P", (1, 1))
    palette.putpalette([*corner.tolist(), *colours])
    frames = []
    for one in pictures:
        index = np.array(Image.fromarray(one).quantize(palette=palette))
        index[(one == corner).all(axis=2)] = 0  # Pillow approximates colours of the palette
        frames.append(Image.fromarray(index))
        frames[-1].putpalette(palette.getpalette())
    # durations are multiples of 10 ms; their sum is right
    ends = np.round(100.0 * np.arange(len(frames) + 1) / fps).astype(int)
    durations = (10 * np.maximum(np.diff(ends), 1)).tolist()
    frames[0].save(
        path,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=durations,
        loop=0,
        optimize=False,
    )


def _mp4(path: Path, pictures: Iterator[Picture], fps: float) -> None:
    first = next(pictures)
    high, wide = first.shape[:2]
    command = [
        *(_ffmpeg(), "-loglevel", "error", "-y"),
        *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{wide}x{high}", "-r", f"{fps:g}"),
        # pictures of an odd size lose a row or column: most players need even ones
        *("-i", "-", "-an", "-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p"),
        *("-b:v", f"{max(200_000, int(_BITS * wide * high * fps))}", "-movflags", "+faststart"),
        os.fspath(path.absolute()),
    ]
    with tempfile.TemporaryFile() as said:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said
        ) as process:
            assert process.stdin is not None
            try:
                process.stdin.write(first.tobytes())
                for one in pictures:
                    process.stdin.write(one.tobytes())
                process.stdin.close()
            except BrokenPipeError:
                pass  # the message of ffmpeg follows
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            said.seek(0)
            last = said.read().decode("utf-8", errors="replace").strip().rpartition("\n")[2]
            raise FileFormatError(
                f"cannot write {path.name!r}: ffmpeg ended with status {process.returncode}"
                + (f": {last}" if last else "")
            )


def write_film(path: str | os.PathLike[str], pictures: Iterator[Picture], fps: float) -> None:
    """Write pictures (h, w, 3) of one size as an endless GIF or an MP4, whole or not at all.

    Parameters
    ----------
    path
        Name of the file, ``.gif`` or ``.mp4``.
    pictures
        Red, green and blue, 0 to 255; at least one.
    fps
        Pictures per second.

    Raises
    ------
    MissingPackageError
        Pillow or ffmpeg is not installed.
    FileFormatError
        The suffix is another one, or the file cannot be written.
    """
    check_film(path)
    with replacing(path) as temporary:
        if temporary.suffix.lower() == ".gif":
            _gif(temporary, list(pictures), fps)
        else:
            _mp4(temporary, pictures, fps)
