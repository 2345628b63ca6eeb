# SPDX-License-Identifier: Apache-2.0
"""Topology XML: exact round trip, unknown parts kept, and hostile files refused with a line."""

import contextlib
import html

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railgauge.topo.errors import Error, InputError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.predict.search import search
from railgauge.topo.xml import topology_file
from railgauge.topo.xml.element import Element, to_integer
from railgauge.topo.xml.text import write
from railgauge.topo.xml.topology import Topology

SMALL = """\
<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143" color="blue">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1"/>
    </pci>
    <future thing="1"/>
  </cpu>
</system>
"""
BOMB = """\
<?xml version="1.0"?>
<!DOCTYPE lolz [
 <!ENTITY lol "lol">
 <!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
]>
<system version="1"><cpu numaid="&lol2;"/></system>
"""
FILE = '<!DOCTYPE x [\n<!ENTITY f SYSTEM "file:///etc/passwd">]>\n<system version="1"><cpu numaid="&f;"/></system>\n'


def test_round_trip_keeps_what_it_does_not_know():
    assert topology_file.dumps(topology_file.loads(SMALL)) == SMALL


def test_lines_are_kept():
    topology = topology_file.loads(SMALL)
    assert topology.gpus[0].line == 4


TOLERATED = {
    "byte order mark": lambda text: "\ufeff" + text,
    "blank lines before": lambda text: "\n\n" + text,
    "header": lambda text: '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n' + text,
    "blanks before the header": lambda text: ' \n<?xml version="1.0"?>' + text,
    "comments": lambda text: "<!-- <!DOCTYPE no --><!--a=b-->" + text.replace("<gpu", "<!-- x --><gpu"),
    "single quotes": lambda text: text.replace('"', "'"),
    "tabs": lambda text: text.replace("  ", "\t").replace(" busid", "\tbusid"),
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "attributes over lines": lambda text: text.replace(" class=", "\n    class = "),
    "blanks in tags": lambda text: text.replace("/>", " />").replace("</cpu>", "</cpu >"),
    "entities": lambda text: text.replace("GenuineIntel", "Genuine&#x49;nte&#108;"),
    "text between": lambda text: text.replace("<pci", "switches: <pci"),
    "trailing blanks": lambda text: text + "\n \n",
    "version in hex": lambda text: text.replace('version="1"', 'version="0x1"'),
}


@pytest.mark.parametrize("form", TOLERATED)
def test_other_forms_say_the_same(form):
    read = topology_file.dumps(topology_file.loads(TOLERATED[form](SMALL)))
    assert read.replace('version="0x1"', 'version="1"') == SMALL


def test_lines_are_those_of_the_file_below_a_late_header():
    assert topology_file.loads('\n\n<?xml version="1.0"?>\n' + SMALL).gpus[0].line == 7


def test_names_of_foreign_spaces_are_refused():
    text = '<system version="1">\n  <a:rack xmlns:a="b" a:unit="7"/>\n  <cpu numaid="0"/>\n</system>\n'
    with pytest.raises(InputError, match=r"bad\.xml:2: .*namespace"):
        topology_file.loads(text, "bad.xml")


def test_what_xml_cannot_hold_is_written_as_replaced():
    cpu = Element(name="cpu", attributes=(("numaid", "a\x00\x1b\tb\n\uffff"),))
    text = topology_file.dumps(Topology(root=Element(name="system", attributes=(("version", "1"),), children=(cpu,))))
    assert topology_file.loads(text).cpus[0].get("numaid") == "a\ufffd\ufffd\tb\n\ufffd"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("16", 16),
        ("0x10", 16),
        ("0X10", 16),
        ("020", 16),
        (" 16", 16),
        ("16 lanes", 16),
        ("-1", -1),
        ("", 0),
        ("15b3", 15),
    ],
)
def test_numbers_are_read_as_nccl_reads_them(text, number):
    assert to_integer(text, "x", None, None) == number


@pytest.mark.parametrize(
    ("speed", "gb_per_s"),
    [("16 GT/s", 24), ("16.0 GT/s PCIe", 24), ("32 GT/s PCIe/s", 48), ("Unknown", 12), ("", 12), ("16.0 GT/s", 12)],
)
def test_spellings_of_link_speed(speed, gb_per_s):
    system = build_system(topology_file.loads(SMALL.replace("16.0 GT/s PCIe", speed)))
    assert {link.gb_per_s for link in system.links if link.kind == "PCI"} == {gb_per_s}


def test_masks_of_more_than_64_cores():
    mask = "0000000f,ffffffff,00000000,00000001"
    cpu = build_system(topology_file.loads(SMALL.replace('color="blue"', f'affinity="{mask}"'))).kind("CPU")[0]
    assert cpu.cpus == (0, *range(64, 100))


@pytest.mark.parametrize(
    ("mask", "cores"),
    [("3", (0, 1)), ("1,0", (32,)), ("100000001", (0,)), ("0xf", (0, 1, 2, 3)), (" 00000000,00000002 ", (1,))],
)
def test_forms_of_core_masks(mask, cores):
    cpu = build_system(topology_file.loads(SMALL.replace('color="blue"', f'affinity="{mask}"'))).kind("CPU")[0]
    assert cpu.cpus == cores


def test_special_characters_survive():
    text = SMALL.replace("blue", "a&lt;b&quot;&amp;&gt;")
    assert topology_file.dumps(topology_file.loads(text)) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (BOMB, 2),
        (FILE, 1),
        (SMALL[:180], 3),
        ("", 1),
        ("<graphs version='1'/>", 1),
        ('<system version="2"><cpu numaid="0"/></system>', 1),
        ('<?xml version="1.0" encoding="UTF-7"?>\n<system version="1"/>', 1),
        (b'<system version="1">\n\xff</system>', 2),
        (SMALL.encode("utf-16"), 1),
        ("<system version='1'>" + "<cpu>" * 200 + "</cpu>" * 200 + "</system>", 1),
        ('<system version="1">\n<cpu numaid="&undefined;"/></system>', 2),
        ('<system version="1">\n<cpu numaid="0" numaid="1"/></system>', 2),
        ('\n\n  <?xml version="1.0"?>\n<system version="1">\n<cpu></system>', 5),
        ('<system version="1">\n<cpu numaid="&#1;"/></system>', 2),
        ('<system version="1">\n<cpu/>\n</system>\n<system version="1"/>', 4),
        ('<system version="1">\n<cpu/>\n</system>\nrank 0 done', 4),
        ("<system version='1'>\n" * 40, 33),
        ('<system version="1">' + "<cpu/>" * 10_000 + "</system>", 1),
    ],
    ids=[
        "bomb",
        "file",
        "cut",
        "empty",
        "root",
        "version",
        "utf7",
        "latin1",
        "utf16",
        "deep",
        "entity",
        "attribute-twice",
        "header-later",
        "control",
        "two-systems",
        "text-after",
        "deep-open",
        "many",
    ],
)
def test_bad_files_name_their_line(text, line):
    with pytest.raises(InputError) as caught:
        topology_file.loads(text, "bad.xml")
    assert caught.value.line == line
    assert "bad.xml" in str(caught.value)


def test_a_file_too_large_is_refused():
    with pytest.raises(InputError, match="larger than"):
        topology_file.loads(b" " * ((16 << 20) + 1))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('busid="0000:01:00.0" ', "", 3),
        ('numaid="0"', 'numaid="zero"', 2),
        ('sm="80"', 'sm="eighty"', 4),
        ('link_width="16"', 'link_width="' + "9" * 30 + '"', 3),
        ('link_width="16"', 'link_width="-16"', 3),
        ('numaid="0"', 'numaid="0" affinity="xyz"', 2),
        ('<future thing="1"/>', '<nic><net dev="0" latency="inf"/></nic>', 6),
        ('<future thing="1"/>', '<nic><net dev="0" latency="nan"/></nic>', 6),
    ],
)
def test_contradictions_name_their_line(old, new, line):
    with pytest.raises(InputError) as caught:
        build_system(topology_file.loads(SMALL.replace(old, new)))
    assert caught.value.line == line


@pytest.mark.parametrize("wire", ['<nvlink target="0000:02:00.0" count="1"/>', '<c2c bw="1" count="1"/>'])
def test_a_gpu_below_a_nic_is_refused(wire):
    inside = f'<pci busid="0000:02:00.0" class="0x030200"><gpu dev="0" sm="80">{wire}</gpu></pci>'
    nic = f'<pci busid="0000:01:00.0" class="0x020000">\n{inside}</pci>'
    text = f'<system version="1"><cpu numaid="0">{nic}</cpu></system>'
    with pytest.raises(InputError, match="is below no CPU") as caught:
        build_system(topology_file.loads(text))
    assert caught.value.line == 2


def test_more_nodes_than_any_machine_has_are_refused_at_once():
    text = '<system version="1">' + "".join(f'<cpu numaid="{i}"/>\n' for i in range(600)) + "</system>"
    with pytest.raises(InputError, match="more than 576") as caught:
        build_system(topology_file.loads(text))
    assert caught.value.line == 577


def test_a_file_without_cpus_is_no_machine(tmp_path):
    file = tmp_path / "empty.xml"
    file.write_text('\n<system version="1"/>')
    with pytest.raises(InputError, match="no <cpu>") as caught:
        load_machine(str(file))
    assert caught.value.line == 2


def test_a_file_of_a_hundred_megabytes_is_not_read_whole(tmp_path):
    file = tmp_path / "big.xml"
    with open(file, "wb") as sparse:
        sparse.truncate(1 << 40)
    with pytest.raises(InputError, match="larger than"):
        load_machine(str(file))


PIECES = (
    "",
    "0",
    "-1",
    '"',
    "<",
    "/>",
    "gpu",
    "9" * 25,
    "<!--",
    "]]>",
    "&amp;",
    "\x00",
    "\ufeff",
    "<!DOCTYPE a>",
    "\n",
)
FIXTURE = topology_file.dumps(load_machine("@h200x4").topology)


@st.composite
def mutations(draw):
    """The fixture with some pieces cut out or replaced, and cut off somewhere."""
    text = FIXTURE
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 40)))
        text = text[:start] + draw(st.sampled_from(PIECES)) + text[end:]
    return text[: draw(st.none() | st.integers(0, len(text)))]


@settings(max_examples=50, deadline=None)
@given(mutations())
def test_no_mutation_does_more_than_raise_an_error(text):
    with contextlib.suppress(Error):
        search(build_system(topology_file.loads(text)))


@settings(max_examples=100, deadline=None)
@given(mutations())
def test_reading_raises_nothing_but_input_errors_and_writing_is_stable(text):
    with contextlib.suppress(InputError):
        written = topology_file.dumps(topology_file.loads(text))
        assert topology_file.dumps(topology_file.loads(written)) == written


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_but_an_input_error(data):
    with contextlib.suppress(InputError):
        topology_file.loads(b'<system version="1">' + data + b"</system>")
    with contextlib.suppress(InputError):
        topology_file.loads(data)


NAMES = st.from_regex(r"[a-z][a-z0-9_.-]{0,8}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20)
ELEMENTS = st.recursive(
    st.builds(Element, name=NAMES, attributes=st.dictionaries(NAMES, VALUES).map(lambda pairs: tuple(pairs.items()))),
    lambda inner: st.builds(Element, name=NAMES, children=st.lists(inner, max_size=3).map(tuple)),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(ELEMENTS)
def test_unknown_elements_and_attributes_survive(element):
    def bare(one):
        return one.name, one.attributes, [bare(child) for child in one.children]

    text = write(Element(name="system", attributes=(("version", "1"),), children=(element,)))
    assert bare(topology_file.loads(text).root.children[0]) == bare(element)


@pytest.mark.parametrize("name", ["numaid", "affinity", "host_hash", "junk"])
def test_a_value_has_a_length(name):
    text = '<system version="1">\n<cpu {}="{}"/></system>'
    topology_file.loads(text.format("affinity", "f" * 4096))
    with pytest.raises(InputError, match=f"<cpu> {name} is longer than 4096 characters") as caught:
        topology_file.loads(text.format(name, "9" * (1 << 20)))
    assert caught.value.line == 2
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("depth", [33, 300, 200_000])
def test_too_deep_is_said_in_the_same_words_however_deep(depth):
    with pytest.raises(InputError, match="nested deeper than 32 elements"):
        topology_file.loads('<system version="1">' + "<pci>" * depth + "</pci>" * depth + "</system>")


def test_an_element_has_no_more_attributes_than_can_be_read_at_once():
    def text(count):
        return '<system version="1">\n<cpu numaid="0"' + "".join(f" a{i}='>'" for i in range(count)) + "/></system>"

    assert len(topology_file.loads(text(255).encode()).root.children[0].attributes) == 256
    with pytest.raises(InputError, match="more than 256 attributes") as caught:
        topology_file.loads(text(256).encode())
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "around",
    ["nvidia@node:~$ cat topo.xml\n{}", "```xml\n{}```\n", "<details>\n\n{}\n</details>\n", "Hi,\n\n{}\nthanks"],
)
def test_a_topology_is_read_out_of_the_text_that_it_was_pasted_with(around):
    topology = topology_file.loads(around.format(SMALL))
    assert topology_file.dumps(topology) == SMALL
    assert topology.cpus[0].line == around[: around.index("{}")].count("\n") + 2


def test_a_topology_is_read_out_of_a_quoted_page():
    text = "\n".join(f"> {line}" for line in html.escape(SMALL).split("\n"))
    assert topology_file.dumps(topology_file.loads(text)) == SMALL


def test_a_pasted_file_that_breaks_off_is_shown_as_far_as_it_goes(tmp_path):
    path = tmp_path / "cut.xml"
    path.write_text(SMALL[: SMALL.index("<future")] + '<pci busid="0000:02:00.0" cla')
    machine = load_machine(str(path))
    assert [gpu.get("dev") for gpu in machine.topology.gpus] == ["0"]
    assert machine.warnings[0] == f"{path} breaks off: read as far as it goes"
    path.write_text("<system><cpu></pci></cpu>")
    with pytest.raises(InputError):
        load_machine(str(path))


def test_a_file_that_breaks_off_is_refused_as_such():
    with pytest.raises(InputError, match="the file breaks off"):
        topology_file.loads(SMALL[: SMALL.index("<future")] + '<pci busid="')
    with pytest.raises(InputError, match=r"not well-formed XML"):
        topology_file.loads(SMALL.replace("</system>", "</sistem>"))


def test_a_file_whose_begin_is_missing_is_refused_as_such():
    with pytest.raises(InputError, match=r"its begin is missing: there is no <system>"):
        topology_file.loads(SMALL[SMALL.index("<gpu") :])
