"""The address sanitizer detects writes beside a block of memory.

A small C program writes one byte of a block of the allocator, or of a piece of an
arena, at a place that the test names; built with the sanitizer it must die when the
place is not its own, and end well when it is.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

from places import ROOT

PROGRAM = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"

typedef struct pieces { char *first, *second; } pieces;

static void layout(pieces *p, size_t bytes, rf_arena *a) {
  p->first = rf_arena_take(a, bytes, 1);
  p->second = rf_arena_take(a, 3, sizeof(double));
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const size_t bytes = (size_t)atoi(argv[2]);
  volatile char *block;
  void *memory;
  if (argv[1][0] == 'b') {
    block = memory = rf_alloc(bytes, 1);
  } else {
    pieces p;
    rf_arena count = {0};
    layout(&p, bytes + 100, &count);
    memory = rf_alloc(count.used, 1);
    // carved twice: the second time decides
    rf_arena once = {.base = memory}, again = {.base = memory};
    layout(&p, bytes + 100, &once);
    layout(&p, bytes, &again);
    block = argv[1][0] == 'f' ? p.first : p.second;
  }
  if (!block || (uintptr_t)block % 64 != 0) return 3;
  block[atoi(argv[3])] = 1;
  rf_free(memory);
  // freed memory that is used again has no red zones left
  char *other = malloc(bytes + 64);
  for (size_t i = 0; other && i < bytes + 64; ++i) other[i] = 1;
  free(other);
  puts("written");
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if not shutil.which(compiler[0]):
        pytest.skip(f"no C compiler on this machine ({compiler[0]})")
    folder = tmp_path_factory.mktemp("redzones")
    (folder / "main.c").write_text(PROGRAM)
    core = ROOT / "csrc"
    sources = [folder / "main.c", core / "base/alloc.c", core / "base/status.c"]
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address", f"-I{core}"]
    command = [*compiler, *flags, *map(str, sources), "-o", str(folder / "program")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "asan" in done.stderr:
        pytest.skip(f"no address sanitizer on this machine: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return folder / "program"


def written(program: Path, *words: object) -> subprocess.CompletedProcess[str]:
    # the sanitizer of this process, if any, is not that of the program
    strange = ("LD_PRELOAD", "ASAN_OPTIONS")
    environment = {k: v for k, v in os.environ.items() if k not in strange}
    return subprocess.run(
        [program, *map(str, words)], capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.parametrize("bytes_", [1, 64, 71])
@pytest.mark.parametrize("kind", ["block", "first", "second"])
def test_writes_outside_of_allocated_memory_are_detected(program, kind, bytes_):
    size = 24 if kind == "second" else bytes_
    for place in (0, size - 1):
        assert written(program, kind, bytes_, place).stdout == "written\n"
    # a granule of the sanitizer has 8 bytes: what ends inside one is seen as well
    for place in (-1, size):
        done = written(program, kind, bytes_, place)
        assert done.returncode != 0, f"wrote byte {place} of {size}"
        assert "AddressSanitizer" in done.stderr
        assert "written" not in done.stdout
