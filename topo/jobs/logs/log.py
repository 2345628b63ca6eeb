# SPDX-License-Identifier: Apache-2.0
"""The facts of a log, gathered line by line: releases, ranks, nodes, networks, channels, errors. Judged elsewhere."""

import re
from collections import Counter, defaultdict

from railgauge.topo.facts.sources.kernel_events import MESSAGE as KERNEL_EVENT
from railgauge.topo.facts.sources.kernel_events import KernelEvents
from railgauge.topo.findings.card import WARN, Pattern
from railgauge.topo.findings.cards.logs import OTHER_WARNING
from railgauge.topo.jobs.logs.catalogue import Entry, entry_of, fit
from railgauge.topo.jobs.logs.communicator_names import INIT, CommunicatorNames
from railgauge.topo.jobs.logs.connections import LoggedConnections
from railgauge.topo.jobs.logs.ending import SHORT, is_own
from railgauge.topo.jobs.logs.endings import MOST_ENDINGS, Endings
from railgauge.topo.jobs.logs.figures import cores, figure
from railgauge.topo.jobs.logs.line import LogLine, messages
from railgauge.topo.jobs.logs.moment import earlier, moment_of
from railgauge.topo.jobs.logs.outputs import Outputs
from railgauge.topo.jobs.logs.records import Rank, Search
from railgauge.topo.jobs.logs.releases import VERSION, CudaReleases, of_library
from railgauge.topo.jobs.logs.scan import Scanner
from railgauge.topo.jobs.logs.sighting import LATE, TASK, Sighting

MOST_MESSAGES = 1 << 12  # different texts of warnings that are kept
LONGEST_MESSAGE = 1 << 11
UNKNOWN_WORDS = Entry(OTHER_WARNING, Pattern("", WARN, "a warning of NCCL that no card has"))
NETWORK = re.compile(r"(?:Using network|Assigned NET plugin) (\S.*?)(?: to comm)?$")
DEVICES = re.compile(r"NET/(IB\w*|Socket) *: Using (\[0\].*?)(?:;|$)")
DEVICE = re.compile(r"\[\d+\](?:=\{(?P<merged>[^}]*)\}|(?P<one>[^\s;=]+))")
MERGED = re.compile(r"\[\d+\] *([^\s,;]+)")  # of 2.20: [0]={[0] mlx5_7:1/RoCE, [1] mlx5_6:1/RoCE}
PLUGIN = re.compile(r"^(?:Plugin Path *:|P2P plugin) (\S+)|NET/Plugin *: (?:Could not find: \S*libnccl-net|No plugin)")
NO_DEVICE = re.compile(r"NET/IB *: No device found")
BOOTSTRAP = re.compile(r"Bootstrap *: Using (?:\[0\])?([^:\s]+):(\S+?)<")
INTERFACE = re.compile(r"NET : Using interface ([^:\s]+):(\S+?)<")
"""Of NCCL 2.0 to 2.3: each is a line, and ranks meet by the first."""
SETTING = re.compile(r"\b(NCCL_\w+) set (?:by environment )?to (.*)")
CHANNELS = re.compile(r"\b(\d{1,5}) coll channels(?:, (?:\d+ collnet channels, )?(\d{1,5}) nvls channels)?")
HCA_GDR = re.compile(r"(?<!Socket : )GPU Direct RDMA (Enabled|Disabled) for HCA (\d+)(?: '([^']+)')?")
PAIR_GDR = re.compile(r"GPU Direct RDMA (Enabled|Disabled) for GPU (\S+) / HCA (\w+) \(distance (\d+)")
RING = re.compile(r"Channel (\d{1,4})(?:/\d+)? : +((?:\d{1,7} +)*\d{1,7})$")
TREE = re.compile(r"\[(\d{1,4})\] (?:[-\d/]+->(\d{1,7})->(-?\d{1,7}))")
LEAVES = re.compile(r"\d{1,4} : NET/")  # a channel that begins at a NIC: NCCL counts several nodes
PATTERN = re.compile(
    r"Pattern (\d{1,3}), crossNic (\d{1,3}), nChannels (\d{1,5}), (?:bw|speed) ([\d.]{1,16})/([\d.]{1,16}), "
    r".*?type (\w+)/?(\w*)"
)
LOADED = re.compile(r"Search (\d) : (\d{1,4}) channels loaded from XML graph")
TOPOLOGY = re.compile(r"Loading topology file (\S.*)")
BRIDGE = re.compile(r"\+ PCI\[([\d.]{1,16})\] - (?:PCI|NIC|GPU)/(\S+)")
AFFINITY = re.compile(r"Affinity for GPU (\d{1,4}) is ([\d,-]+)\. \(GPU affinity = ([\d,-]+)")
NVLINK = re.compile(r"\+ (?:NVL|XGMI)\[([\d.]{1,16})\] - (GPU/\S+)")
GPU = re.compile(r" - (GPU/\S+) \(")
NODES = re.compile(r"\bnNodes (\d{1,7})\b")
GID = re.compile(r"\bGID (\d{1,4}) \((?:80FE|FE80|fe80)")
"""The GID of a RoCE connection (ports of InfiniBand log a LID) that is link-local; in the order of bytes of x86."""
LAST_ERROR = "Last error:"
SPEAKER = re.compile(
    r"(?:\(\w{1,64} (?:pid=)?\d{1,9}[^)]{0,64}\)|\[(?:rank|default)?\d{1,7}\]:|\[\d{1,7},\d{1,7}\]<\w+>:)?"
)
"""How launchers mark the lines of a worker."""
EVENT = re.compile(r"(?:^|\s)(?:Normal|Warning) +[A-Z]\w+ .*\b(?:default-scheduler|kubelet)\b")
FABRIC = re.compile(r"MNNVL busId (\w+) fabric UUID \S+ cliqueId \w+ state (\d{1,4}) healthMask 0x([0-9a-f]{1,8})\b")

SPEED = re.compile(r"Could not get speed from /sys/class/net/([^/\s]{1,15})/speed")
"""Of each interface that sockets use for data."""
LOOPBACK = re.compile(r" (?:127\.|::1$)")
SLOW_BRIDGE_GB_PER_S = 1.0
"""Less than PCIe 2.0 x2: no GPU or NIC for RDMA has it; a fictitious bridge of a hypervisor has 0.2."""


class Log:
    """The facts of the lines read so far. Sets and maps are by host; `channels` by (comm, host, device)."""

    def __init__(self) -> None:
        self.messages = 0
        self.releases: defaultdict[str, set[str]] = defaultdict(set)
        self.cuda = CudaReleases()
        self.ranks: dict[tuple[str, int], Rank] = {}
        self.hosts: dict[str, None] = {}
        self.networks: defaultdict[str, set[str]] = defaultdict(set)
        self.devices: defaultdict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
        self.plugins: defaultdict[str, set[str]] = defaultdict(set)
        """The network plugins by host; "" where one is not found."""
        self.without_rdma: set[str] = set()
        self.bootstraps: dict[str, str] = {}
        self.addresses: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        """Those that an interface has, by host and interface: ranks on hosts of one name have several."""
        self.interfaces: dict[str, None] = {}
        """The names of those that NCCL 2.0 to 2.4 lists, whichever network it then uses."""
        self.settings: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.channels: dict[tuple[str, str, int | None], tuple[int, int | None]] = {}
        self.hca_gdr: dict[tuple[str, str], bool] = {}
        self.pair_gdr: dict[tuple[str, str, str], bool] = {}
        self.rings: dict[int, tuple[int, ...]] = {}
        self.trees: defaultdict[int, dict[int, int]] = defaultdict(dict)
        self.searches: dict[Search, None] = {}
        self.loaded: dict[int, int] = {}
        """Channels that came from NCCL_GRAPH_FILE, by the graph's number: 0 rings, 1 trees."""
        self.topology_files: dict[str, None] = {}
        self.slow_bridges: dict[tuple[str, str], float] = {}
        self.narrowed: dict[tuple[str, int], tuple[int, int]] = {}
        self.fabrics: dict[tuple[str, str], tuple[int, int]] = {}
        self.sightings: dict[str, Sighting] = {}
        self.nodes: dict[str, int] = {}
        """How many nodes NCCL counts, by communicator."""
        self.nvlinks: dict[tuple[str, str, str], float] = {}
        """GB/s of NVLinks from a GPU to another one, by host."""
        self.link_local: defaultdict[str, set[int]] = defaultdict(set)
        """The indices of link-local GIDs that RoCE connections use, by host."""
        self.exceptions: dict[str, None] = {}
        """Exceptions of the program itself, in words that no card has."""
        self.leaves = False
        self.events = False
        """Whether it has events of Kubernetes."""
        self.connections = LoggedConnections()
        self.outputs = Outputs()
        self.kernel = KernelEvents()
        self._all, self._few = Scanner(), Scanner(connections=False)
        self._names = CommunicatorNames()
        self._threads: dict[tuple[str, int, int], str] = {}
        self._known: dict[tuple[str, str], Sighting | None] = {}
        self._gpus: dict[tuple[str, int, int], str] = {}
        self._endings = Endings()
        self._file = 0
        self._last_error: str | None = None  # who announced it; None while nobody has
        self._warned: LogLine | None = None
        self._listing: Sighting | None = None  # what the tasks are named of that are listed below it

    @property
    def empty(self) -> bool:
        """Whether it had nothing from NCCL, and is no kernel log."""
        return not (self._tells_of_a_job or self.kernel.of_kernel or self.ends)

    @property
    def _tells_of_a_job(self) -> bool:
        job = self.messages or self.connections.kept or self.sightings or self.releases or self.outputs.any
        long = self.kernel.of_kernel and self.kernel.lines > SHORT  # somebody chose the lines of a short one
        return bool(job or self.hca_gdr or self.events or self.kernel.any or long)

    @property
    def on_one_node(self) -> bool:
        """Whether all ranks are on one host: NCCL counts one node, nccl-tests lists all there, all ranks of every
        communicator are known there, or connections that are not of the network join them all. With NCCL_HOSTID it is
        several.
        """
        if self.leaves or self.on_several_nodes:
            return False
        if self.nodes or self.outputs.nodes or (self.bootstraps and self._meets_by_loopback):
            return True
        members = Counter((rank.comm, rank.host, rank.size) for rank in self.ranks.values())
        if members and all(times == size for (_, _, size), times in members.items()):
            return True
        senders = {one.source for one in self.connections.kept}
        receivers = {one.target for one in self.connections.kept}
        if size := max((size for _, _, size in members), default=0):
            return bool(senders) and len(senders | receivers | {rank for _, rank in self.ranks}) >= size
        return len(senders) > 1 and senders == receivers

    @property
    def _meets_by_loopback(self) -> bool:
        """Whether ranks meet by the loopback interface alone, and have no other."""
        by_loopback = all(LOOPBACK.search(one) for one in self.bootstraps.values())
        return by_loopback and self.interfaces.keys() <= {"lo"}

    @property
    def on_several_nodes(self) -> bool:
        """Whether the log shows ranks on several nodes: hosts, NCCL's count, nccl-tests' list, or connections."""
        if self.nodes:
            return max(self.nodes.values()) > 1
        by_list = self.outputs.nodes > 1 if self.outputs.nodes else self.connections.by_network
        return self.leaves or len(self.hosts) > 1 or by_list

    @property
    def ends(self) -> dict[str, str]:
        """The errors that the files read so far end in, and the Python packages that raised them."""
        return self._endings.found(weak=not self._tells_of_a_job)

    def end_file(self) -> None:
        """The file that was read is at its end; another may follow."""
        self._endings.end_file(weak=not self._tells_of_a_job)
        self.outputs.end_file()
        self._file += 1

    def read(self, block: bytes) -> None:
        """Take in a block of whole lines."""
        self._endings.take(block)
        keeps = not self.connections.full
        if not keeps and self.connections.count(block):
            self.kernel.lines += (lines := block.count(b"\n"))
            self.outputs.pass_over(lines)
            return  # nothing else is in it
        self.kernel.read(block)
        self.outputs.take(block)
        if self._last_error is not None:  # what it was stands at the beginning of this block
            first, _, block = block.partition(b"\n")
            self._take_all(first)
        for raw in (self._all if keeps else self._few).lines(block):
            if host := self.connections.whole(raw, self._threads):
                self.messages += 1
                self.hosts[host] = None
                self._warned, self._last_error = None, None
            else:
                self._take_all(raw)

    def _take_all(self, raw: bytes) -> None:
        if b"Xid" in raw and KERNEL_EVENT.search(raw):
            return  # it is judged as such
        for message in messages(raw):
            if message.level:
                self._take(message)
                self._warned, self._last_error = message if message.level == "WARN" else None, None
            else:
                self._take_foreign(message)

    def _take_foreign(self, line: LogLine) -> None:
        """A line without NCCL's header: of another program, or of a warning above it."""
        said, _, last = line.text.partition(LAST_ERROR)
        if last := last.strip(' "}'):  # in one line, as JSON and some loggers have it
            self._error(line._replace(level="WARN", text=last))
            line = line._replace(text=said)
        who = SPEAKER.match(line.text)
        if self._last_error is not None and (not line.text or (who and who[0] not in ("", self._last_error))):
            self._take(line)  # of another worker that shares the pipe, or empty
            return
        if self._last_error is not None:  # the words of NCCL, which PyTorch repeats
            self._error(line._replace(level="WARN"))
        elif not (self._warned and self._goes_on(self._warned, line.text)):
            self._take(line)
        self._warned, self._last_error = None, who[0] if who and line.text.endswith(LAST_ERROR) else None

    def _take(self, line: LogLine) -> None:
        if line.level:
            self.messages += 1
        via = "via" in line.text and self.connections.read(line.text, line.host, self._comm(line))
        stated = via or (line.level != "WARN" and self._facts(line))
        if line.host and (stated or line.level == "WARN"):  # where ranks cut into a line others are the ends of names
            self.hosts[line.host] = None
        if not (via or (stated and line.level == "INFO")):
            self._error(line)

    def _facts(self, line: LogLine) -> bool:
        """Take in what a line states, if it states a fact."""
        text, host = line.text, line.host
        if found := INIT.search(text):
            self._rank(line, found)
            if count := NODES.search(text):
                self.nodes[self._comm(line)] = int(count[1])
        elif found := NETWORK.search(text):
            self.networks[host].add(found[1])
        elif found := DEVICES.search(text):
            kind = "Socket" if found[1] == "Socket" else "IB"
            self.devices[host][kind] = names = tuple(map(_device, DEVICE.finditer(found[2])))
            if names[:1] and names[0].startswith("lo:") and len(names) > 1 and host not in self.bootstraps:
                self.bootstraps[host] = "lo 127.0.0.1"  # releases without a line of their own on it
                self.interfaces |= dict.fromkeys(name.partition(":")[0] for name in names)
        elif found := SPEED.search(text):
            known = self.devices[host].get("Socket", ())
            if not any(one.startswith(f"{found[1]}:") for one in known):
                self.devices[host]["Socket"] = (*known, f"{found[1]}:")
        elif found := PLUGIN.search(text):
            self.plugins[host].add(found[1] or "")
        elif NO_DEVICE.search(text):
            self.without_rdma.add(host)
        elif found := BOOTSTRAP.search(text):
            self.bootstraps[host] = f"{found[1]} {found[2]}"
            self.addresses[host, found[1]].add(found[2])
        elif found := INTERFACE.search(text):
            self.bootstraps.setdefault(host, f"{found[1]} {found[2]}")
            self.interfaces[found[1]] = None
            self.addresses[host, found[1]].add(found[2])
        elif found := VERSION.search(text):
            self.releases[f"{found[1]} {found[2]}"].add(host)
            self.cuda.built(text, host)
        elif found := SETTING.search(text):
            self.settings[found[1]][found[2].rstrip(".")].add(host)
        elif found := CHANNELS.search(text):
            key = self._comm(line), host, line.device if host else len(self.channels)
            self.channels[key] = int(found[1]), int(found[2]) if found[2] else None
        elif found := HCA_GDR.search(text):
            self.hca_gdr[host, found[3] or found[2]] = found[1] == "Enabled"
        elif found := PAIR_GDR.search(text):
            self.pair_gdr[host, found[2], found[3]] = found[1] == "Enabled"
        else:
            return self.cuda.driver(text, host) or self._graphs(line)
        return True

    def _graphs(self, line: LogLine) -> bool:
        text, host = line.text, line.host
        if found := RING.search(text):
            self.rings[int(found[1])] = tuple(map(int, found[2].split()))
        elif text.startswith("Trees"):
            for channel, rank, parent in TREE.findall(text):
                self.trees[int(channel)][int(rank)] = int(parent)
        elif LEAVES.match(text):
            self.leaves = True
        elif found := PATTERN.search(text):
            intra, inter = figure(found[4]), figure(found[5])
            search = Search(host, int(found[1]), int(found[3]), intra, inter, found[6], found[7], int(found[2]))
            self.searches[search] = None
        elif found := LOADED.search(text):
            self.loaded[int(found[1])] = int(found[2])
        elif found := TOPOLOGY.search(text):
            self.topology_files[found[1]] = None
        elif found := BRIDGE.search(text):
            if figure(found[1]) < SLOW_BRIDGE_GB_PER_S:
                self.slow_bridges[host, found[2]] = figure(found[1])
            if gpu := GPU.search(text):
                self._gpus[line.host, line.pid, line.thread] = gpu[1]
        elif found := NVLINK.search(text):
            gpu_of_line = self._gpus.get((line.host, line.pid, line.thread), "")
            if gpu_of_line:
                self.nvlinks[host, gpu_of_line, found[2]] = figure(found[1])
        elif found := GID.search(text):
            self.link_local[host].add(int(found[1]))
        elif found := AFFINITY.search(text):
            self.narrowed[host, int(found[1])] = cores(found[2]), cores(found[3])
        elif found := FABRIC.search(text):
            self.fabrics[host, found[1]] = int(found[2]), int(found[3], 16)
        else:
            if not line.level:
                self._others(text)
            return False
        return True

    def _others(self, text: str) -> None:
        self.events = self.events or bool(EVENT.search(text))
        if release := of_library(text):
            self.releases[release].add("")
        self.outputs.read(text)

    def _comm(self, line: LogLine) -> str:
        return self._threads.get((line.host, line.pid, line.thread), "")

    def _rank(self, line: LogLine, found: re.Match[str]) -> None:
        rank, size = int(found["rank"]), int(found["size"])
        comm = self._names.name(line.host, line.pid, found)
        if "COMPLETE" not in line.text:  # the first line of a start; before 2.18 there is the last one alone
            self._threads[line.host, line.pid, line.thread] = comm
        device = int(found["device"]) if found["device"] else line.device
        known = self.ranks.get((comm, rank))
        bus_id = found["bus_id"] or (known.bus_id if known else "")
        self.ranks[comm, rank] = Rank(comm, rank, size, line.host, line.pid, device, bus_id)

    def _error(self, line: LogLine) -> None:
        if self._listing and not line.level and TASK.fullmatch(line.text):
            self._listing.take_late(line.text)
            return
        key = line.level, line.text[:LONGEST_MESSAGE]
        if key not in self._known:
            sighting = self._sighting(*key)
            if len(self._known) < MOST_MESSAGES:
                self._known[key] = sighting
        else:
            sighting = self._known[key]
        self._listing = sighting if line.text.endswith(LATE) else None
        if sighting:
            sighting.times += 1
            sighting.hosts.add(line.host)
            if sighting.times <= MOST_MESSAGES:
                moment = moment_of(line.before, line.host, self._file)
                sighting.moments[self._file] = earlier(sighting.moments.get(self._file, moment), moment)

    def _goes_on(self, line: LogLine, rest: str) -> bool:
        """Whether a warning goes on in the line below it, as wrapped lines do: then more is known of both together."""
        begun = self._known.get((line.level, line.text[:LONGEST_MESSAGE]))
        for text in sorted((line.text + rest, f"{line.text} {rest}"), key=fit) if begun else ():
            entry = entry_of(text, line.level)
            if (
                begun
                and entry
                and entry != entry_of(rest, "WARN")  # it would be words of the line below alone
                and (begun.entry is UNKNOWN_WORDS or entry.pattern.general < begun.entry.pattern.general)
            ):
                begun.times -= 1
                self.sightings = {name: seen for name, seen in self.sightings.items() if seen.times}
                self._known.pop((line.level, line.text[:LONGEST_MESSAGE]), None)
                self._error(line._replace(text=text))
                return True
        return False

    def _sighting(self, level: str, text: str) -> Sighting | None:
        entry = entry_of(text, level)
        if entry is None and level != "WARN":
            if not level and len(self.exceptions) < MOST_ENDINGS and is_own(text):
                self.exceptions[text] = None
            return None
        entry = entry or UNKNOWN_WORDS
        name = text if entry is UNKNOWN_WORDS else f"{entry.card.id} {entry.pattern.meaning}"
        if entry is UNKNOWN_WORDS and len(self.sightings) >= MOST_MESSAGES:
            return None
        seen = self.sightings.setdefault(name, Sighting(entry, text))
        seen.take_names(text)
        return seen


def _device(found: re.Match[str]) -> str:
    """A device, or those that are merged into one."""
    return found["one"] or "+".join(MERGED.findall(found["merged"]))
