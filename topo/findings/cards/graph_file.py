# SPDX-License-Identifier: Apache-2.0
"""Graph files (`graph lint`): the channels that NCCL loads with NCCL_GRAPH_FILE, on the machine that they are for."""

from railgauge.topo.findings.card import FAIL, INFO, PASS, WARN, Card

NCCL_CANNOT_READ = Card(
    id="graph-nccl-cannot-read",
    title="NCCL's own XML parser refuses the file or reads it differently",
    levels=(WARN, FAIL),
    about="NCCL reads XML with a small parser of its own, which refuses what other programs write and accept.",
    remedy="write it as NCCL does: railgauge graph search -o FILE",
)
ATTRIBUTE_MISSING = Card(
    id="graph-attribute-missing",
    title="An attribute is missing or not a number",
    levels=(FAIL,),
    about="NCCL stops where an attribute of a graph that it needs is missing.",
    remedy="write the file again: railgauge graph search -o FILE",
)
GRAPH_ABSENT = Card(
    id="graph-absent",
    title="The file has no ring or no tree, or one of them twice",
    levels=(WARN,),
    about="NCCL searches for graphs that the file does not have; of two it takes the first.",
    remedy="give the file one ring (id 0) and one tree (id 1), each with its channels",
)
CHANNEL_COUNT = Card(
    id="graph-channel-count",
    title="nchannels is not the number of channels",
    levels=(WARN, FAIL),
    about="NCCL reads as many <channel> elements as nchannels says.",
    remedy="set nchannels to the number of <channel> elements, 32 at most",
)
GPU_UNKNOWN = Card(
    id="graph-gpu-unknown",
    title="The machine does not have a GPU of the file",
    levels=(FAIL,),
    about="NCCL stops at a channel through a GPU that the communicator does not have.",
    remedy="dev is the GPU's number, hexadecimal, with its host's in the highest byte; search again for this machine",
)
GPU_REPEATED = Card(
    id="graph-gpu-repeated",
    title="A GPU is in a channel twice",
    levels=(FAIL,),
    about="A ring or tree visits each GPU once.",
    remedy="name each GPU of the machine once in each channel",
)
GPU_MISSING = Card(
    id="graph-gpu-missing",
    title="A channel does not visit every GPU",
    levels=(FAIL,),
    about="A ring or tree visits each GPU of the communicator once.",
    remedy="name each GPU of the machine once in each channel; for fewer GPUs search with --gpus",
)
GPU_RANK = Card(
    id="graph-gpu-rank",
    title="A rank is not that of its GPU",
    levels=(WARN,),
    about="NCCL finds a GPU by dev; a rank beside it that is another one's shows that the file is for another job.",
    remedy="leave rank out: dev identifies the GPU on every node",
)
NIC_UNKNOWN = Card(
    id="graph-nic-unknown",
    title="The machine does not have a NIC of the file",
    levels=(FAIL,),
    about="NCCL stops at a channel through a NIC that it does not know.",
    remedy="dev is the NIC's number in NCCL's order, hexadecimal; railgauge topo show lists them",
)
CHANNEL_OPEN = Card(
    id="graph-channel-open",
    title="A channel does not close, or leads to no NIC",
    levels=(FAIL,),
    about="On one node a ring ends where it begins; as one of several nodes a channel begins and ends at a NIC.",
    remedy="search again, with --nodes 2 for a node that is one of several",
)
SPEED_WRONG = Card(
    id="graph-speed-wrong",
    title="A speed is not valid",
    levels=(FAIL,),
    about="NCCL predicts times from the speed of a channel, and divides by it.",
    remedy="give the GB/s of one channel, above 0",
)
TYPE_UNKNOWN = Card(
    id="graph-type-unknown",
    title="NCCL does not load this path type",
    levels=(FAIL,),
    about="NCCL loads a part of its path types from files, and stops at others.",
    remedy="take the next further type that it loads: PIX for C2C, SYS for NET",
)
TYPE_DIFFERS = Card(
    id="graph-type-differs",
    title="A path type is nearer than the paths of the channels",
    levels=(WARN,),
    about="NCCL decides on P2P and protocols by the type in the file, which should be that of the furthest step.",
    remedy="give the furthest type of all steps: railgauge topo paths shows them",
)
LINK_OVERLOADED = Card(
    id="graph-link-overloaded",
    title="A link is loaded beyond its bandwidth",
    levels=(WARN, FAIL),
    about="Together the channels send more over a link than it carries, so that none reaches its speed.",
    remedy="use fewer or slower channels, or others: railgauge graph search finds those that fit",
)
CROSSNIC = Card(
    id="graph-crossnic",
    title="crossnic does not match the channels or the setting",
    levels=(WARN,),
    about="crossnic says whether a channel may leave a node by another NIC than the one it came in by.",
    remedy="crossnic is 0 where channels leave by the NIC that they came in by, 2 for crossed pairs, otherwise 1",
)
SAMECHANNELS = Card(
    id="graph-samechannels",
    title="samechannels is 1, but the channels differ",
    levels=(WARN,),
    about="With samechannels NCCL assumes that all channels visit the GPUs in one order.",
    remedy="set samechannels to 0",
)
GRAPH_FILE_FAULTY = Card(
    id="graph-file-faulty",
    title="The file contradicts itself or is of another version",
    levels=(FAIL,),
    about="No other finding says why, and yet the file cannot be loaded as it is.",
    remedy="correct the value, or search again: railgauge graph search -o FILE",
)
GRAPH_TOTAL = Card(
    id="graph-total",
    title="What the channels reach, compared with NCCL's choice and the bound",
    levels=(INFO,),
    about="The sum of the channels' bandwidth, that of the channels NCCL would choose, and what no channels exceed.",
)
GRAPH_SOUND = Card(
    id="graph-sound",
    title="Nothing is wrong in the file",
    levels=(PASS,),
    about="Each GPU is in each channel once, and devices and links are as the machine has them.",
    passes="each GPU once in each channel, devices and links as the machine has them",
)
