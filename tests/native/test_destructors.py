# SPDX-License-Identifier: Apache-2.0
"""An error that leaves a destructor ends the program: there GPUs are entered by `cuda::Closing`, which has none."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("collectives/native", "transports/native", "topo/native")
DESTRUCTOR = re.compile(r"^( *)(?:\w+::)*(~\w+)\(\) *(?:noexcept *)?\{(.*\}$|(?s:.*?)^\1\}$)", re.MULTILINE)
THROWS = re.compile(r"\bCurrent\b|\bcheck\(|\bthrow\b")


def destructors(text: str) -> list[tuple[str, str]]:
    """The name and body of each that a file defines; clang-format leaves the closing brace below the name."""
    return [(found[2], found[3]) for found in DESTRUCTOR.finditer(text)]


def test_no_destructor_throws():
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".h", ".cc")]
    bodies = [(path.name, *one) for path in files for one in destructors(path.read_text())]
    assert {"~Memory", "~Mark", "~Engine", "~NcclCommunicator", "~Fd"} <= {name for _, name, _ in bodies}
    assert [(file, name) for file, name, body in bodies if THROWS.search(body)] == []


def test_destructors_are_found():
    text = "A::~A() {\n  if (x) {\n    check(y);\n  }\n}\nstruct B {\n  ~B() { end(); }\n  ~B();\n  ~C() {\n  }\n};\n"
    assert [name for name, _ in destructors(text)] == ["~A", "~B", "~C"]
    assert "check(y)" in destructors(text)[0][1]
