"""Records of another scene: refused where they are shown, doubted where they are replayed."""

from __future__ import annotations

import warnings

from reducedfem import scenes
from reducedfem.cli.options import UsageError
from reducedfem.errors import PlausibilityWarning
from reducedfem.haptics.records import HapticRecords
from reducedfem.haptics.session import HapticSession
from reducedfem.io.record_file import record_sizes
from reducedfem.viewer.recorded_objects import (
    RecordedObjects,
    disagreement,
    sizes_text,
    sound_cycles,
)

__all__ = ["doubt_contact", "doubt_sizes", "refuse_other_scene"]

# of rigid scenes, and of all in versions that did not record the states of bodies
_NONE = (0, 0, 0)
_IN_PYTHON = (
    "show them in Python by view(session, records=records), with the session that was recorded"
)


def _sizes(records: HapticRecords) -> tuple[int, int, int]:
    return record_sizes(records.array.dtype) or _NONE


def _like(scene: str, records: HapticRecords) -> str:
    """Return the other scenes whose records have the same sizes, "peg, alpha or soft"."""
    names = [one for one in scenes.STORIES if scenes._record_sizes(one) == _sizes(records)]
    names = [one for one in names if one != scene]
    return ", ".join([*names[:-2], " or ".join(names[-2:])])


def _difference(scene: str, records: HapticRecords) -> str:
    """Describe sizes of records that are not those of a scene; empty: they are."""
    found, own = _sizes(records), scenes._record_sizes(scene)
    if found == own:
        return ""
    return f"{sizes_text(*found)} in a cycle, those of the scene {scene} have {sizes_text(*own)}"


def refuse_other_scene(scene: str, file: str, records: HapticRecords) -> None:
    """Refuse records that cannot be those of a scene, which is not yet built."""
    if records.scene is not None and records.scene != scene:
        use = f"use --scene {records.scene}" if records.scene in scenes.STORIES else _IN_PYTHON
        raise UsageError(
            f"--scene {scene}: the records in {file!r} are of the scene {records.scene}: {use}"
        )
    why = _difference(scene, records)
    # a touched body needs its place of contact
    if not why or (_sizes(records) == _NONE and not scenes._record_sizes(scene)[2]):
        return
    like = _like(scene, records)
    use = f"use --scene {like}" if like else f"no scene has such records; {_IN_PYTHON}"
    raise UsageError(f"--scene {scene}: the records in {file!r} have {why}: {use}")


def doubt_sizes(scene: str, file: str, records: HapticRecords) -> bool:
    """Warn of a replay of records that do not have the sizes of a scene; return True if so."""
    why = _difference(scene, records)
    if records.scene is not None and records.scene != scene:
        _warn(scene, file, records, f"they name the scene {records.scene}")
        return True
    if why:
        old = "; or by a version that recorded no bodies" if _sizes(records) == _NONE else ""
        _warn(scene, file, records, f"they have {why}{old}")
    return bool(why)


def doubt_contact(scene: str, file: str, records: HapticRecords, session: HapticSession) -> None:
    """Warn of a replay of records whose contact is not that of the objects of a scene."""
    array = sound_cycles(records.array)
    why = disagreement(RecordedObjects(session, array), array)
    if why:
        _warn(scene, file, records, why)


def _warn(scene: str, file: str, records: HapticRecords, why: str) -> None:
    like = _like(scene, records)
    other = f"another scene than {scene}" + (f" ({like})" if like else "")
    warnings.warn(
        f"the records in {file!r} are probably of {other}: {why}; the hand moves as recorded",
        PlausibilityWarning,
        stacklevel=3,
    )
