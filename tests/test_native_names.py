# SPDX-License-Identifier: Apache-2.0
"""One name, one thing, in C++ as in Python (test_names.py): no two native files define a type of the same name."""

import pathlib
import re
from collections import defaultdict

import pytest

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = ("topo", "transports", "collectives")
SUFFIXES = (".h", ".cc", ".cu", ".cuh")
FOREIGN = ("transports/native/cuda/driver.h", "transports/native/ib/abi.h", "collectives/native/nccl/library.h")
"""Types of other libraries, by their names there."""
SIBLINGS = re.compile(r"transports/native/(shm|socket|ib)/")
"""The transports mirror each other, file by file: the same part has the same name in each one's namespace."""

NVCC = r"^\s*#ifdef __CUDACC__.*?^#(?:else|endif)"
NOT_CODE = re.compile(
    NVCC + r'|//[^\n]*|/\*.*?\*/|^\s*#[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL | re.MULTILINE
)
"""Nor is what nvcc alone sees: there CUDA's types stand for those of a CPU's compiler, by the same names."""
TEMPLATE = re.compile(r"^template\s*<[^;{}]*?>\s*(?=class|struct|union|using|concept)")
TYPE = re.compile(
    r"(?:class|struct|union|enum class|enum)\s+(?:\[\[.*?\]\]\s*|alignas\(.*?\)\s*)?(?P<name>\w+)(?!\w|\s*::|[^:]*\()"
    r"(?P<target>)"
)
ALIAS = re.compile(r"(?:using|concept)\s+(?P<name>\w+)\s*=\s*(?:.*::)?(?P<target>.*)", re.DOTALL)


def defined(text):
    """The types that a file defines at namespace scope; another name for a type of the same name is none."""
    scopes, found = [], set()
    for words, end in re.findall(r"([^;{}]*)([;{}])", NOT_CODE.sub(" ", text)):
        words = TEMPLATE.sub("", words.strip())
        outside = all(scope == "namespace" for scope in scopes)
        named = (TYPE if end == "{" else ALIAS).match(words) if outside else None
        if named and named["target"] != named["name"]:
            found.add(named["name"])
        if end == "{":
            scopes.append("namespace" if re.match(r"(inline\s+)?namespace\b|extern\s*$", words) else "other")
        elif end == "}":
            scopes.pop()
    assert not scopes
    return found


def homonyms(root):
    """The files by type name, of the names that several files define and not the transports alone."""
    found = defaultdict(list)
    for path in sorted(path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in SUFFIXES):
        if (file := str(path.relative_to(root))) not in FOREIGN:
            for name in defined(path.read_text()):
                found[name].append(file)
    places = {name: {SIBLINGS.match(file) is not None or file for file in files} for name, files in found.items()}
    return {name: files for name, files in found.items() if len(places[name]) > 1}


def test_each_native_type_has_a_name_of_its_own():
    assert homonyms(ROOT) == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("namespace a { class Link { struct Side; enum Kind { kOne }; }; }", {"Link"}),
        ("namespace a::b {\nnamespace {\nstruct alignas(64) Part final : Whole { int at = 0; };\n}\n}", {"Part"}),
        ("template <class T, int n>\nclass Ring {};\nusing Rings = std::vector<Ring<int, 2>>;", {"Ring", "Rings"}),
        ("enum class Way : int { kRing };\nunion Word { int one; };", {"Way", "Word"}),
        ("class Link;\nstruct Engine::Share { int start; };\nusing Subject = shm::Subject;", set()),
        ('// class Said { };\n#define LINK class Link {\nconst char* text = "struct Text {";', set()),
        ("struct Side side() { return {}; }\nvoid run() { struct Local { int at; }; using Here = int; }", set()),
        ("template <class T>\nT least(T one) { return one; }", set()),
    ],
)
def test_what_defines_a_type(text, expected):
    assert defined(text) == expected


def test_homonyms_are_found_across_files_and_not_among_the_transports(tmp_path):
    for name, text in {
        "topo/native/link.h": "namespace topo { struct Wire {}; }",
        "collectives/native/link.cc": "namespace { using Wire = int; }",
        "transports/native/ib/proxy.h": "namespace ib { class Proxy {}; }",
        "transports/native/socket/proxy.h": "namespace socket { class Proxy {}; }",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    assert homonyms(tmp_path) == {"Wire": ["collectives/native/link.cc", "topo/native/link.h"]}
