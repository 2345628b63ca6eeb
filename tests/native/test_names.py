# SPDX-License-Identifier: Apache-2.0
"""C++'s one definition rule, which no compiler looks at without LTO: a name of a namespace is defined once."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("collectives/native", "transports/native", "topo/native")
NAMESPACE = re.compile(r"^namespace ?([\w:]*) ?\{")
DEFINED = re.compile(r"^(?:struct|class|union|enum(?: class)?) (?:alignas\(\d+\) )?([\w:]+)[^;]*\{")


def definitions(text: str) -> list[str]:
    """The types of named namespaces that a file defines; clang-format leaves both at the margin."""
    found, within = [], [""]
    for line in text.splitlines():
        if opened := NAMESPACE.match(line):
            within.append("" if within[-1] is None else opened[1] or None)
        elif line.startswith("}  // namespace"):
            within.pop()
        elif (defined := DEFINED.match(line)) and None not in within:
            found.append("::".join([*filter(None, within), defined[1]]))
    return found


def test_a_type_of_a_namespace_is_defined_once():
    places = defaultdict(set)
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".h", ".cc", ".cuh", ".cu"):
                for name in definitions(path.read_text()):
                    places[name].add(str(path.relative_to(ROOT)))
    assert len(places) > 100
    assert {name: sorted(files) for name, files in places.items() if len(files) > 1} == {}


def test_definitions_are_found():
    text = "namespace a::b {\nnamespace {\nstruct Own {\n};\n}  // namespace\nstruct C;\nenum class D : int { kE };\n"
    assert definitions(text) == ["a::b::D"]
