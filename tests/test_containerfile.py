# SPDX-License-Identifier: Apache-2.0
"""The container file takes the wheel that scripts/wheel makes. It is read here, not built."""

import re
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Containerfile").read_text()
STEPS = [
    re.sub(r"\\\n\s*", "", step).split(maxsplit=1) for step in re.findall(r"^[A-Z]+ (?:.*\\\n)*.*$", TEXT, re.MULTILINE)
]


def of(instruction):
    return [rest for name, rest in STEPS if name == instruction]


def test_it_takes_the_wheel_and_no_other():
    api = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["scikit-build"]["wheel"]["py-api"]
    (pattern, _), *_ = (rest.split() for rest in of("COPY"))
    assert fnmatch(f"railgauge-0.1.0.dev0-{api}-abi3-manylinux_2_34_x86_64.whl", pattern)
    assert fnmatch(f"railgauge-1.0-{api}-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", pattern)
    assert not fnmatch(f"railgauge-1.0-{api}-abi3-manylinux_2_34_aarch64.whl", pattern)
    assert not fnmatch("railgauge-1.0-cp311-cp311-manylinux_2_34_x86_64.whl", pattern)
    (image,) = of("FROM")
    python = re.search(r"python:3\.(\d+)-", image)
    assert int(python[1]) >= int(api.removeprefix("cp3"))


def test_its_commands_are_a_shells_and_its_user_is_not_root():
    for command in of("RUN"):
        subprocess.run(["sh", "-n", "-c", command], check=True)
    assert of("USER")[-1] not in ("root", "0")
    assert [name for name, _ in STEPS if name in ("ENTRYPOINT", "CMD")] == ["ENTRYPOINT", "CMD"]


def test_the_page_builds_it_from_the_folder_of_the_wheels():
    page = (ROOT / "docs" / "guide" / "install.md").read_text()
    assert "-f Containerfile build/wheels" in page
    assert "folder=${1:-build/wheels}" in (ROOT / "scripts" / "wheel").read_text()
