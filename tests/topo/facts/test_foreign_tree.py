# SPDX-License-Identifier: Apache-2.0
"""Trees of sysfs that something else gathered: archives of hwloc, tarballs of a class, unpacked folders."""

import gzip
import tarfile
from pathlib import Path

import pytest
from tests.topo.facts.test_tar_members import archive, special

from railgauge.topo.errors import InputError
from railgauge.topo.facts.described.build import build
from railgauge.topo.facts.described.files import unpack
from railgauge.topo.facts.foreign_tree import place
from railgauge.topo.facts.machine_facts import MachineFacts
from railgauge.topo.facts.named_source import fixture_path
from railgauge.topo.machine import load_machine
from railgauge.topo.nccl.detect.rdma_survey import survey_rdma
from railgauge.topo.render.palette import text_of
from railgauge.topo.render.rdma import rdma_document, rdma_lines
from railgauge.topo.xml import topology_file

SAMPLES = Path(__file__).parents[4] / "shared" / "samples"


def sample(name):
    path = SAMPLES / name
    if not path.is_file():
        pytest.skip(f"the sample {name} is not at hand")
    return str(path)


@pytest.mark.parametrize(
    ("names", "prefix", "root"),
    [
        (["sys/class/net/eth0"], "", "/"),
        (["proc/cpuinfo"], "", "/"),
        (["dgx/proc/cpuinfo", "dgx/sys/bus/pci", "dgx/sys/x/sys/class/a"], "dgx/", "/"),
        (["a/b/sys/devices/x"], "a/b/", "/"),
        (["h100/mlx5_0/ports/1/state", "h100/mlx5_0/fw_ver"], "h100/", "/sys/class/infiniband/"),
        (["mlx5_0/ports/1/state"], "", "/sys/class/infiniband/"),
    ],
)
def test_where_a_tree_begins(names, prefix, root):
    assert place(names, "x") == (prefix, root)


@pytest.mark.parametrize("names", [[], ["README"], ["etc/passwd"], ["mysys/class/x", "sys/other"]])
def test_what_is_no_tree_is_refused(names):
    with pytest.raises(InputError, match="not a capture"):
        place(names, "x")


def test_an_archive_and_its_unpacked_folder_are_one_machine(tmp_path):
    path = fixture_path("dgx-h100")
    capture = build(Path(path).read_bytes(), path)
    unpack(capture.texts, capture.links, tmp_path / "dgx")
    with tarfile.open(tmp_path / "dgx.tar.xz", "w:xz") as tar:
        tar.add(tmp_path / "dgx", "dgx")
    folder, packed = load_machine(str(tmp_path / "dgx")), load_machine(str(tmp_path / "dgx.tar.xz"))
    assert topology_file.dumps(folder.topology) == topology_file.dumps(packed.topology)
    assert folder.warnings == packed.warnings
    assert (folder.host, len(folder.topology.gpus)) == ("dgx-h100", 8)  # by their PCI ids
    assert len([line for line in folder.warnings if "NVML: a tree of files" in line]) == 1
    assert "GPUs are listed without NVML, so their NVLinks are unknown" in folder.warnings
    assert {gpu.sm for gpu in MachineFacts(folder.reader).gpus} == {90}
    assert MachineFacts(folder.reader).pci == MachineFacts(packed.reader).pci


def test_a_folder_around_the_only_tree_is_as_good(tmp_path):
    (tmp_path / "a/host/sys").mkdir(parents=True)
    (tmp_path / "a/host/proc").mkdir()
    (tmp_path / "a/host/proc/cpuinfo").write_text("vendor_id : GenuineIntel\n")
    assert load_machine(str(tmp_path / "a")).topology.cpus[0].get("vendor") == "GenuineIntel"
    (tmp_path / "a/other/sys").mkdir(parents=True)
    with pytest.raises(InputError, match=r"without sys/ or proc/"):
        load_machine(str(tmp_path / "a"))


def test_links_of_a_foreign_archive_stay_in_it(tmp_path):
    rows = [(special("x/sys/class/net/eth0", tarfile.SYMTYPE, "../../../../../../etc"), b""), ("x/proc/cpuinfo", b"")]
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(archive(*rows)))
    reader = load_machine(str(tmp_path / "a.tar.gz")).reader
    assert reader.entries("/sys/class/net/eth0") == ()


def test_hwloc_of_four_sockets_and_a_truescale_adapter():
    machine = load_machine(sample("hwloc-40intel64-2g2n4c+pcilocality.tar.bz2"))
    inventory = MachineFacts(machine.reader)
    assert [cpu.get("numaid") for cpu in machine.topology.cpus] == ["0", "1", "2", "3"]
    assert (len(inventory.pci), inventory.function("0000:43:00.0").numa) == (37, 2)
    (adapter,) = inventory.rdma
    assert (adapter.name, adapter.bus_id) == ("qib0", "0000:43:00.0")


def test_hwloc_of_a_dgx_spark():
    machine = load_machine(sample("hwloc-nvidia-dgx-gb10.tar.bz2"))
    (cpu,) = machine.topology.cpus
    assert (cpu.get("arch"), cpu.get("affinity")) == ("arm64", "fffff")


def test_hwloc_of_a_power9():
    machine = load_machine(sample("hwloc-nvidiagpunumanodes.tar.bz2"))
    assert {cpu.get("arch") for cpu in machine.topology.cpus} == {"ppc64"}
    assert [cpu.get("numaid") for cpu in machine.topology.cpus][:2] == ["0", "8"]


def test_the_rdma_devices_of_an_h100_host():
    machine = load_machine(sample("gpud-sys-class-infiniband-h100.tar.gz"))
    devices = MachineFacts(machine.reader).rdma
    assert len(devices) == 9
    ports = [port for device in devices for port in device.ports]
    assert sum(port.link_layer == "InfiniBand" and port.is_active for port in ports) == 8
    assert not any(device.placed for device in devices)


def class_alone(tmp_path, **texts):
    """A tarball of /sys/class/infiniband without the kernel's links: two cards."""
    files = {"state": "4: ACTIVE", "link_layer": "InfiniBand", "rate": "400 Gb/sec (4X NDR)", **texts}
    rows = [(f"x/mlx5_{n}/ports/1/{key}", text.encode()) for n in range(2) for key, text in sorted(files.items())]
    path = tmp_path / "class.tar.gz"
    path.write_bytes(gzip.compress(archive(*rows)))
    return load_machine(str(path))


def test_links_that_are_not_in_a_tree_are_not_taken_for_absent_ones(tmp_path):
    machine = class_alone(tmp_path)
    assert "mlx5_0, mlx5_1 placed on the first CPU: device not recorded" in machine.warnings
    survey = survey_rdma(machine.reader, {})
    assert survey.merged == ()
    assert [(port.dev, port.gid.index) for port in survey.ports] == [(None, None), (None, None)]
    assert [text_of(line).rpartition("  ")[2] for line in rdma_lines(survey)[1:3]] == ["NET ?, GID ?"] * 2
    assert [port["nccl"]["dev"] for device in rdma_document(survey)["devices"] for port in device["ports"]] == [
        None
    ] * 2


def test_a_gid_table_that_is_in_the_tree_is_used(tmp_path):
    machine = class_alone(tmp_path, **{"gids/0": "fe80:0000:0000:0000:946d:ae03:0090:7832"})
    assert [port.gid.index for port in survey_rdma(machine.reader, {}).ports] == [0, 0]


def test_a_tree_says_what_it_lacks_of_cpu_and_host(tmp_path):
    machine = class_alone(tmp_path)
    assert "host_hash omitted: neither host name nor boot id is readable" in machine.warnings
    assert any("/proc/cpuinfo is missing" in warning for warning in machine.warnings)
    assert machine.topology.cpus[0].attributes == (("numaid", "-1"),)
    assert topology_file.loads(topology_file.dumps(machine.topology)).cpus[0].get("host_hash") is None


def test_a_tree_without_pci_devices_does_not_tell_whether_there_are_gpus(tmp_path):
    warnings = class_alone(tmp_path).warnings
    assert "GPUs unknown: describing the machine for host ranks" in warnings


def test_gpus_that_only_the_driver_lists_are_named(tmp_path):
    gpus = ("0004:05:00.0", "0035:04:00.0")
    rows = [(f"x/proc/driver/nvidia/gpus/{gpu}/numa_status", b"") for gpu in gpus]
    rows += [(f"x/sys/bus/pci/devices/{gpu}/class", b"0x030000") for gpu in gpus]
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(archive(*rows)))
    warnings = load_machine(str(tmp_path / "a.tar.gz")).warnings
    assert f"GPU {', '.join(gpus)} left out: NVML: a tree of files does not have it" in warnings
    assert "no GPU takes part: describing the machine for host ranks" in warnings
    assert not any("no GPU found" in warning for warning in warnings)
