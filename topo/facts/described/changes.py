# SPDX-License-Identifier: Apache-2.0
"""Changes to a machine: [files] sets or removes files and links, [facts] sets single answers of NVML and the like."""

import json
from typing import Any

from railgauge.topo.facts.described.files import Files
from railgauge.topo.facts.described.section import Section
from railgauge.topo.facts.shapes import FACTS


def change_files(top: Section, files: Files) -> None:
    """[files]: a text for a path, { link = "/target" } for a link there, false to remove a file, a link or a folder.

    Links on the way to a text are followed; a link that is there is replaced.
    """
    section = top.section("files")
    for path in section:
        value = section.any(path)
        if value is False:
            if not files.remove(path):
                raise section.wrong(path, "cannot be removed: it does not exist")
        elif isinstance(value, dict):
            link = section.section(path)
            folder, _, name = path.rpartition("/")
            files.link(f"{files.real(folder)}/{name}", link.text("link"))
            link.end()
        else:
            files.text(files.real(path), section.text(path))


def change_facts(top: Section, facts: dict[str, Any]) -> None:
    """[facts.nvml] and so on: values by the way to them, a list's items by their number: gpus.2.links.5.state = 0.

    false removes an item of a list.
    """
    section = top.section("facts")
    for name in section:
        if name not in FACTS:
            raise section.wrong(name, f"is not one of {', '.join(FACTS)}")
        try:
            json.dumps(section.any(name), allow_nan=False)
            facts[name] = _changed(section, name, facts.get(name, {}), section.any(name))
        except (TypeError, ValueError, RecursionError) as error:
            raise section.wrong(name, f"cannot be written as JSON: {error}") from error


def _changed(section: Section, where: str, old: Any, new: Any) -> Any:
    if not isinstance(new, dict):
        return new
    if isinstance(old, list):
        return _changed_list(section, where, old, new)
    old = old if isinstance(old, dict) else {}
    return {**old, **{key: _changed(section, f"{where}.{key}", old.get(key), value) for key, value in new.items()}}


def _changed_list(section: Section, where: str, old: list[Any], new: dict[str, Any]) -> list[Any]:
    changed = list(old)
    for key, value in new.items():
        if not key.isdecimal() or int(key) >= len(old):
            raise section.wrong(where, f"has {len(old)} items, but no number {key}")
        changed[int(key)] = _changed(section, f"{where}.{key}", old[int(key)], value)
    return [item for place, item in enumerate(changed) if new.get(str(place)) is not False]
