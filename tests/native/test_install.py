# SPDX-License-Identifier: Apache-2.0
"""The library for C++ programs: what is installed for them and not in a wheel, and what their page says of it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/guide/cpp.md").read_text()
INSTALL = re.compile(r"^ *install\((.*?)\)$", re.MULTILINE | re.DOTALL)
HEADER = re.compile(r"\$\{source\}/([\w/]+\.h)")


def installed():
    """By component what it installs."""
    parts = {"python": "", "development": ""}
    for what in INSTALL.findall((ROOT / "CMakeLists.txt").read_text()):
        component = re.search(r"COMPONENT (\w+)", what)
        assert component, what  # without one it would go into every wheel
        parts[component[1]] += what
    return parts


def test_a_wheel_has_nothing_for_cpp_programs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["tool"]["scikit-build"]["install"]["components"] == ["python"]
    assert "_native" in installed()["python"]
    assert ".h" not in installed()["python"]


def test_installed_headers_include_what_is_installed_beside_them():
    headers = [ROOT / name for name in HEADER.findall(installed()["development"])]
    assert len(headers) == 5
    names = {header.name for header in headers}
    for header in headers:
        assert set(re.findall(r'^#include "(.*)"', header.read_text(), re.MULTILINE)) <= names, header
        assert f"<railgauge/{header.name}>" in header.read_text()


def test_the_page_names_what_is_there():
    codes = re.search(r"enum class ErrorCode \{(.*?)\}", (ROOT / "transports/native/error.h").read_text(), re.DOTALL)
    assert set(re.findall(r"^\| (k\w+) ", PAGE, re.MULTILINE)) == set(re.findall(r"^  (k\w+),", codes[1], re.MULTILINE))
    api = (ROOT / "collectives/native/communicator.h").read_text()
    words = set(re.findall(r"options\.(\w+)", PAGE)) | {
        "all_reduce",
        "reduce_scatter",
        "all_gather",
        "all_to_all",
        "run",
    }
    assert len(words) > 6
    assert {word for word in words if not re.search(rf"\b{word}\b[ (]", api)} == set()
