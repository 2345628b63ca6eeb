# SPDX-License-Identifier: Apache-2.0
"""Counters of interfaces, RDMA ports and GPUs are read as they are, from made-up trees, captures and real answers."""

import shutil
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.topo.rdma_tree import ROCE, RdmaTree

from railgauge.topo.facts.capture import Capture, CaptureReader
from railgauge.topo.facts.reader import LiveReader
from railgauge.topo.facts.recording import capture_of
from railgauge.topo.facts.sources import gpu_counters
from railgauge.topo.facts.sources.link_counters import ByteDirection, CounterKind
from railgauge.topo.facts.sources.net_counters import read_net_counters
from railgauge.topo.facts.sources.nvlink_counters import read_nvlink_counters
from railgauge.topo.facts.sources.pcie_counters import read_pcie_counters
from railgauge.topo.facts.sources.port_counters import read_port_counters
from railgauge.topo.findings.traffic.passed import passed
from railgauge.topo.findings.traffic.read import read_counters

SAMPLES = Path(__file__).parents[5] / "shared" / "samples"
H200_X2 = (
    {"index": 0, "nvlinks": [[58270, 0]] * 17 + [[58223, 0]], "pcie": [3230143940, 2471684912]},
    {"index": 0, "nvlinks": [[291352, 0]] * 17 + [[291118, 0]], "pcie": [3234527976, 3638542684]},
)
"""GPU 0 of two H200 (driver 580), before and after 4 GiB went to GPU 1 and 1 GiB came from the host."""


@pytest.fixture
def tree(tmp_path):
    return RdmaTree(tmp_path)


def interface(tree, name, *above, ifindex=2, **files):
    folder = f"/sys/devices/virtual/net/{name}"
    tree.write(f"{folder}/ifindex", str(ifindex))
    for file, value in files.items():
        tree.write(f"{folder}/statistics/{file}", str(value))
    for upper in above:
        tree.link(f"{folder}/upper_{upper}", f"../{upper}")
    tree.link(f"/sys/class/net/{name}", folder)


def live(tree):
    return LiveReader(str(tree.root))


def test_an_interface_has_its_statistics_its_index_and_what_is_above_it(tree):
    interface(tree, "bond0", ifindex=7, tx_bytes=1, rx_bytes=2)
    interface(tree, "eth0", "bond0", tx_bytes=10, tx_packets=1, tx_errors=0, tx_dropped=3, rx_bytes=20, rx_packets=2)
    tree.write("/sys/class/net/bonding_masters", "bond0")
    bond, eth0 = read_net_counters(live(tree))
    assert (bond.name, bond.made, bond.above, bond.unread) == ("bond0", "7", (), "")
    assert eth0.counts == {
        ByteDirection.SENT: {"data": 10, "packets": 1, "errors": 0, "dropped": 3},
        ByteDirection.RECEIVED: {"data": 20, "packets": 2},
    }
    assert eth0.above == ("bond0",)


@pytest.mark.parametrize(
    ("files", "what"), [({"rx_bytes": 1}, "tx_bytes"), ({"rx_bytes": "x", "tx_bytes": 1}, "rx_bytes")]
)
def test_an_interface_without_bytes_says_which_file_is_amiss(tree, files, what):
    interface(tree, "eth0", **files)
    (eth0,) = read_net_counters(live(tree))
    assert eth0.unread == f"/sys/class/net/eth0/statistics/{what}: missing, or not a number"


def test_this_machines_own_interfaces_are_read():
    lo = next(one for one in read_net_counters(LiveReader()) if one.name == "lo")
    assert lo.unread == ""
    assert lo.counts[ByteDirection.SENT].keys() == {"data", "packets", "errors", "dropped"}


def test_a_port_counts_words_and_those_of_ipoib_once_more(tree):
    tree.device("mlx5_0", "0000:17:00.0", "0000:18:00.0", netdev="ib0")
    tree.port("mlx5_0")
    tree.device("mlx5_1", "0000:17:00.0", "0000:19:00.0", netdev="eth1")
    tree.port("mlx5_1", **ROCE)
    for device, data in (("mlx5_0", 250), ("mlx5_1", (1 << 32) - 1)):
        folder = f"/sys/class/infiniband/{device}/ports/1/counters"
        for file, value in {"port_xmit_data": data, "port_rcv_data": 5, "port_rcv_errors": 1}.items():
            tree.write(folder_of(tree, folder, file), str(value))
    first, second = read_port_counters(live(tree))
    assert (first.kind, first.name, first.unit_bytes, first.above) == (CounterKind.RDMA_PORT, "mlx5_0:1", 4, ("ib0",))
    assert first.counts == {ByteDirection.SENT: {"data": 250}, ByteDirection.RECEIVED: {"data": 5, "errors": 1}}
    assert (second.above, "32-bit" in second.unread) == ((), True)


def folder_of(tree, folder, file):
    """The real path below the tree, since the class's folders are links."""
    real = (tree.root / folder.lstrip("/").split("/ports/")[0]).readlink()
    return f"{real}/ports/{folder.split('/ports/')[1]}/{file}"


def test_efa_counts_bytes(tree):
    tree.device("rdmap0s6", "0000:00:06.0", node_type="7: unspecified")
    tree.port("rdmap0s6", link_layer="Unspecified")
    for file, value in {"tx_bytes": 1000, "rx_bytes": 2000, "tx_pkts": 1, "rx_pkts": 2, "rx_drops": 0}.items():
        tree.write(folder_of(tree, "/sys/class/infiniband/rdmap0s6/ports/1/hw_counters", file), str(value))
    (port,) = read_port_counters(live(tree))
    assert (port.unit_bytes, port.unread) == (1, "")
    assert port.counts[ByteDirection.RECEIVED] == {"data": 2000, "packets": 2, "dropped": 0}


def test_the_ports_of_the_recorded_h100_host(tmp_path):
    archive = SAMPLES / "gpud-sys-class-infiniband-h100.tar.gz"
    if not archive.is_file():
        pytest.skip("no shared samples here")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (tmp_path / "sys/class").mkdir(parents=True)
    shutil.move(next(tmp_path.glob("sys-class-infiniband-*")), tmp_path / "sys/class/infiniband")
    ports = {one.name: one for one in read_port_counters(LiveReader(str(tmp_path)))}
    assert len(ports) == 9
    assert not any(one.unread for one in ports.values())
    assert ports["mlx5_4:1"].counts[ByteDirection.SENT]["data"] == 230442669431839
    assert ports["mlx5_4:1"].unit_bytes == 4


def test_nvlinks_of_a_gpu_are_one_link_in_kib():
    before, after = (read_nvlink_counters({"gpus": [gpu]})[0] for gpu in H200_X2)
    assert (after.name, after.kind) == ("GPU0 NVLink", CounterKind.NVLINK)
    assert passed(before, after, ByteDirection.SENT).bytes == pytest.approx(4 << 30, rel=1e-3)
    assert passed(before, after, ByteDirection.RECEIVED).bytes == 0
    fewer = read_nvlink_counters({"gpus": [{**H200_X2[1], "nvlinks": [*H200_X2[1]["nvlinks"][1:], [None, None]]}]})[0]
    assert passed(before, fewer, ByteDirection.SENT).why == "it was recreated meanwhile"


def test_pcie_bytes_of_a_gpu_may_wrap():
    before, after = (read_pcie_counters({"gpus": [gpu]})[0] for gpu in H200_X2)
    assert passed(before, after, ByteDirection.RECEIVED).bytes == 1166857772
    later = read_pcie_counters({"gpus": [{**H200_X2[1], "pcie": [5, 5]}]})[0]
    assert passed(after, later, ByteDirection.SENT).bytes == (1 << 32) - 3234527976 + 5


def test_a_gpu_that_tells_nothing_has_no_nvlink_and_says_why_of_pcie():
    silent = {"gpus": [{"index": 0, "nvlinks": [[None, None]] * 18, "pcie": [None, None]}]}
    assert read_nvlink_counters(silent) == ()
    assert "driver" in read_pcie_counters(silent)[0].unread
    for answer in (None, {"error": "NVML crashed (SIGSEGV)"}):
        assert (read_nvlink_counters(answer), read_pcie_counters(answer)) == ((), ())


def test_a_recording_replays_all_counters(tree):
    interface(tree, "eth0", tx_bytes=10, rx_bytes=20)
    tree.device("mlx5_0", "0000:17:00.0", "0000:18:00.0", netdev="eth0")
    tree.port("mlx5_0")
    reader = live(tree)
    recorded = read_counters(reader)
    capture = capture_of(reader, "host")
    assert read_counters(CaptureReader(capture)) == recorded
    with_gpus = Capture(manifest={}, facts={"gpu_counters": {"gpus": [H200_X2[0]]}})
    assert [one.name for one in read_counters(CaptureReader(with_gpus))] == ["GPU0 NVLink", "GPU0 PCIe"]


class MadeUpNvml:
    """As pynvml: one GPU with one NVLink that is there."""

    NVML_SUCCESS = 0

    class NVMLError(Exception):
        pass

    def nvmlInit(self):
        pass

    def nvmlDeviceGetCount(self):
        return 2

    def nvmlDeviceGetHandleByIndex(self, index):
        if index:
            raise self.NVMLError("GPU is lost")
        return index

    def nvmlDeviceGetFieldValues(self, handle, asked):
        return [self._value(field, link) for field, link in asked]

    def _value(self, field, link):
        wide = SimpleNamespace(uiVal=1, ullVal=field * 1000 + (1 << 33))
        narrow = SimpleNamespace(uiVal=field, ullVal=(1 << 40) + field)
        pcie = field in (gpu_counters.PCIE_SENT, gpu_counters.PCIE_RECEIVED)
        there = pcie or link == 0
        return SimpleNamespace(nvmlReturn=0 if there else 3, valueType=1 if pcie else 3, value=narrow if pcie else wide)


def test_the_child_asks_for_fields_of_links_and_takes_each_value_by_its_type(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pynvml", MadeUpNvml())
    first, lost = gpu_counters.collect()["gpus"]
    assert list(first["nvlinks"][0]) == [138_000 + (1 << 33), 139_000 + (1 << 33)]
    assert {tuple(pair) for pair in first["nvlinks"][1:]} == {(None, None)}
    assert first["pcie"] == [197, 198]
    assert lost["pcie"] == [None, None]


def test_the_real_child_always_answers():
    assert {"gpus", "error"} & gpu_counters.live_gpu_counters().keys()


def test_what_the_child_prints_is_the_answer(tmp_path, monkeypatch):
    (tmp_path / "pynvml.py").write_text(
        "NVMLError, nvmlInit, nvmlDeviceGetCount = Exception, lambda: None, lambda: 0\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert gpu_counters.live_gpu_counters() == {"gpus": []}
