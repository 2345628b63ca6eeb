# SPDX-License-Identifier: Apache-2.0
"""Graph XML: exact round trip, and files that do not fit the machine refused with a line."""

from dataclasses import replace

import pytest

from railgauge.topo.channels import graph_file
from railgauge.topo.channels.graph import Channel, Policy
from railgauge.topo.errors import InputError
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.graph.system import build_system
from railgauge.topo.predict.search import search
from railgauge.topo.xml import topology_file

SYSTEM = build_system(load_machine("@h200x4").topology)
TEXT = graph_file.dumps(search(SYSTEM, policy=Policy.NCCL), SYSTEM)
INTER = graph_file.dumps(search(SYSTEM, nodes=2, policy=Policy.NCCL), SYSTEM)
HOST = build_system(topology_file.loads('<system version="1"><cpu numaid="0" arch="x86_64"/></system>'), host_ranks=3)


@pytest.mark.parametrize("text", [TEXT, INTER])
def test_round_trip(text):
    assert graph_file.dumps(graph_file.loads(text, SYSTEM), SYSTEM) == text


def test_devs_are_written_as_nccl_does():
    assert '<gpu dev="0"/>\n      <gpu dev="0x1"/>' in TEXT
    assert '<net dev="0"/>\n      <gpu dev="0"/>' in INTER


def test_host_ranks_stand_where_gpus_would():
    graphs = search(HOST)
    text = graph_file.dumps(graphs, HOST)
    assert '<gpu dev="0x2"/>' in text
    assert graph_file.loads(text, HOST).ring.channels == graphs.ring.channels


def test_the_order_of_ranks_is_what_the_file_says():
    graphs = search(HOST)
    text = graph_file.dumps(graphs, HOST)
    swapped = text.replace('dev="0x1"', "!").replace('dev="0x2"', 'dev="0x1"').replace("!", 'dev="0x2"')
    order = tuple({0: 0, 1: 2, 2: 1}[rank] for rank in graphs.ring.channels[0].ranks)
    assert graph_file.loads(swapped, HOST).ring.channels[0] == Channel(ranks=order)


def test_devs_are_hexadecimal_with_or_without_0x_as_nccl_reads_them():
    assert graph_file.loads(TEXT.replace('dev="0x3"', 'dev="3"'), SYSTEM) == graph_file.loads(TEXT, SYSTEM)
    with pytest.raises(InputError, match="dev 0x13"):
        graph_file.loads(TEXT.replace('dev="0x3"', 'dev="13"', 1), SYSTEM)


def test_a_dev_beyond_64_bits_is_told_as_that():
    with pytest.raises(InputError, match="more than 64 bits"):
        graph_file.loads(TEXT.replace('dev="0x3"', 'dev="0x1' + 16 * "0" + '"', 1), SYSTEM)
    assert graph_file.loads(TEXT.replace('dev="0x3"', 'dev="0x' + 20 * "0" + '3"'), SYSTEM).ring.channels


def test_more_channels_than_nccl_has_room_for_are_refused():
    one = TEXT[TEXT.index("    <channel>") : TEXT.index("</channel>\n") + 11]
    with pytest.raises(InputError, match="has 33 channels"):
        graph_file.loads(TEXT.replace(one, 22 * one, 1).replace('nchannels="12"', 'nchannels="33"', 1), SYSTEM)


@pytest.mark.parametrize(("own", "written"), [("C2C", "PIX"), ("NET", "SYS"), ("DIS", "SYS"), ("NVB", "NVB")])
def test_types_that_nccl_does_not_load_are_written_as_the_next_further_one(own, written):
    graphs = search(SYSTEM)
    text = graph_file.dumps(replace(graphs, ring=replace(graphs.ring, type_intra=own)), SYSTEM)
    assert f'typeintra="{written}"' in text.splitlines()[1]


def test_a_file_without_a_tree_gets_one_on_the_ring():
    text = TEXT[: TEXT.index('  <graph id="1"')] + "</graphs>\n"
    graphs = graph_file.loads(text, SYSTEM)
    assert graphs.tree.channels == graphs.ring.channels
    assert graphs.tree.pattern == 1


def test_other_graphs_are_kept():
    text = TEXT.replace('<graph id="3" pattern="5"', '<graph id="3" pattern="5" future="1"')
    assert graph_file.dumps(graph_file.loads(text, SYSTEM), SYSTEM) == text


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('<gpu dev="0x3"/>', '<gpu dev="0x9"/>', 7),
        ('<gpu dev="0x3"/>', '<gpu dev="0x2"/>', 7),
        ('      <gpu dev="0x3"/>\n', "", 3),
        ('<graphs version="1">', '<graphs version="2">', 1),
        ('nchannels="12"', 'nchannels="11"', 2),
        ('pattern="4"', 'pattern="77"', 2),
        ('id="1" pattern="1"', 'id="1" pattern="4"', 76),
        ('speedintra="30"', 'speedintra="0"', 2),
        ('speedintra="30"', 'speedintra="nan"', 2),
        ('typeintra="NVL"', 'typeintra="WARP"', 2),
        ('dev="0x3"', 'dev="three"', 7),
        ('<gpu dev="0"/>', '<net dev="0"/><gpu dev="0"/>', 3),
        ('graph id="0"', 'graph id="9"', 1),
        ("</graphs>", "", 154),
    ],
)
def test_files_that_do_not_fit_name_their_line(old, new, line):
    assert old in TEXT
    with pytest.raises(InputError) as caught:
        graph_file.loads(TEXT.replace(old, new, 1), SYSTEM, "graph.txt")
    assert caught.value.line == line


def test_a_ring_without_channels_is_refused():
    text = '<graphs version="1">\n<graph id="0" pattern="4" nchannels="0" speedintra="1" speedinter="1"/>\n</graphs>'
    with pytest.raises(InputError, match="no channel"):
        graph_file.loads(text, SYSTEM)
