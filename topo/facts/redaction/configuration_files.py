# SPDX-License-Identifier: Apache-2.0
"""What a capture keeps of the files that settings name: what NCCL reads in them, and nothing else.

A user may name any file, and root can read any: of a configuration file the NAME=VALUE lines of NCCL's settings stay,
of other variables that NCCL sets the name, of a topology file its elements.
"""

import re
from collections.abc import Callable, Mapping

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.reader import follow
from railgauge.topo.facts.sources.nccl_settings import (
    CONF_FILE,
    HOST_FILE,
    in_folder,
    is_of_programs,
    name_of,
    read_settings,
)
from railgauge.topo.facts.sources.nccl_topo_file import SETTING, VIRTUAL

PART = re.compile(
    r"""<!--(?P<comment>.*?)-->|(?P<header><\?xml\s[^?]*\?>)|(?P<element><(?:[^<>"']|"[^"]*"|'[^']*')*>)|(?P<text>[^<]+|<)""",
    re.DOTALL,
)
NAME = re.compile(r"<([A-Za-z][\w.-]*)")
ROOT = "system"
NOT_RECORDED = "(not recorded)"
NO_ELEMENT = "not XML: not recorded"


def kept(capture: Capture) -> dict[str, str]:
    """The capture's texts, without what NCCL does not read in files of its own."""
    texts = dict(capture.texts)
    for path, keep in own_files(capture).items():
        real = follow(path, capture.links.get)
        if real in texts:
            texts[real] = keep(texts[real])
    return texts


def own_files(capture: Capture) -> Mapping[str, Callable[[str], str]]:
    """NCCL's files on the machine, each with what keeps of its text what NCCL reads."""
    answer = capture.facts.get("settings") or {}
    reader = CaptureReader(capture)
    settings = {one.name: one.value for one in read_settings(reader) or ()}
    configuration = (HOST_FILE, *answer.get("files", ()), *filter(None, [settings.get(CONF_FILE)]))
    topology = (VIRTUAL, *filter(None, [settings.get(SETTING)]))
    configuration, topology = (tuple(in_folder(reader, name) for name in names) for names in (configuration, topology))
    return dict.fromkeys(topology, only_elements) | dict.fromkeys(configuration, only_settings)


def only_settings(text: str) -> str:
    """The lines that set something, as NCCL finds them; of variables of others the name."""
    named = ((name_of(line), line) for line in text.split("\n"))
    return "\n".join(line if is_of_programs(name) else f"{name}={NOT_RECORDED}" for name, line in named if name)


def only_elements(text: str) -> str:
    """A topology file with its elements where they stand; of comments and of other text only the shape.

    Of another XML file the name of its outermost element, of all else that it is none.
    """
    elements = (name for part in PART.finditer(text) if (name := NAME.match(part["element"] or "")))
    first = next(elements, None)
    if not text.lstrip("\ufeff \t\r\n").startswith("<") or first is None:
        return NO_ELEMENT
    return PART.sub(_shape, text) if first[1] == ROOT else f"<{first[1]}/>"


def _shape(found: re.Match[str]) -> str:
    if found["comment"] is not None:
        return f"<!--{_blank(found['comment'])}-->"
    return _blank(found["text"]) if found["text"] else found[0]


def _blank(text: str) -> str:
    return re.sub(r"[^\s<]", "x", text)
