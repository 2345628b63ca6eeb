# SPDX-License-Identifier: Apache-2.0
"""railgauge topo paths: JSON, words, and the settings that steer paths."""

import json

import pytest
from tests.cli.command import in_process as railgauge

from railgauge.topo.facts.named_source import fixture_path


def test_paths_as_json():
    document = json.loads(railgauge("topo", "paths", "--from", "@h200x4", "--json").stdout)
    assert document["schema"] == "railgauge/paths/1"
    pair = next(p for p in document["paths"] if (p["from"], p["to"]) == ("GPU/0-60", "GPU/0-70"))
    assert (pair["type"], pair["hops"], round(pair["gb_per_s"], 1)) == ("NVL", 4, 370.8)
    assert pair["via"][-1] == "GPU/0-70"


@pytest.mark.parametrize("name", ["eth0", "NIC0", "NET/0-0"])
def test_one_path_in_words(name):
    out = railgauge("topo", "paths", "0000:00:06.0", name, "--from", "@h200x4").stdout
    lines = out.splitlines()
    assert lines[0] == "GPU0 -> eth0: PHB, 4 hops, 1.25 GB/s"
    assert [line.split()[0] for line in lines if "<- limits" in line] == ["NET"]
    assert "  PHB: crosses NUMA-1" in lines


def test_settings_steer_paths_and_are_named():
    pair = ("topo", "paths", "GPU0", "GPU1", "--from", "@h200x4")
    done = railgauge(*pair, "--json", "--set", "NCCL_P2P_LEVEL=LOC", NCCL_P2P_LEVEL="SYS")
    path = json.loads(done.stdout)["paths"][0]
    assert (path["type"], path["wired"]["type"], path["p2p"]["level_from"]) == ("PHB", "NVL", "NCCL_P2P_LEVEL=LOC")
    assert "railgauge: NCCL_P2P_LEVEL=LOC\n" in done.stderr
    assert json.loads(railgauge(*pair, "--json", NCCL_P2P_LEVEL="LOC").stdout)["paths"][0]["type"] == "NVL"
    wrong = railgauge(*pair, "--set", "NCCL_P2P_LEVEL=far")
    assert (wrong.returncode, wrong.stdout) == (2, "")


def test_a_port_has_the_name_that_the_kernel_gives_it():
    done = railgauge("topo", "paths", "mlx5_2:1", "GPU0", "--from", "@dgx-h100", "--ids", "nccl")
    assert done.stdout.startswith("NET/0-2 (mlx5_2 [port 2 of the card to NCCL]) -> GPU/0-1b000 (GPU0)")


def test_a_topology_file_does_not_tell_what_nvml_answers(tmp_path):
    path = tmp_path / "topo.xml"
    path.write_text(railgauge("topo", "dump", "--from", "@dgx-h100").stdout)
    said = "unless NVML denies peer access"
    assert said in railgauge("topo", "paths", "GPU0", "GPU1", "--from", str(path)).stdout
    assert said not in railgauge("topo", "paths", "GPU0", "GPU1", "--from", "@dgx-h100").stdout


def test_text_names_devices_and_nccls_ids_are_an_option():
    pair = ("topo", "paths", "GPU0", "mlx5_0", "--from", "@dgx-h100")
    text, ids = railgauge(*pair).stdout, railgauge(*pair, "--ids", "nccl").stdout
    assert "GPU/0-1b000" not in text
    assert "  PCI      48 GB/s  0000:1b:00.0 -> 0000:16:00.0 " in text
    assert ids.startswith("GPU/0-1b000 (GPU0) -> NET/0-0 (mlx5_0 port 1): PIX")
    table = railgauge("topo", "paths", "--from", "@dgx-h100").stdout
    assert table.splitlines()[0].split()[:2] == ["mlx5_0", "GPU0"]
    assert railgauge("topo", "paths", "--from", "@dgx-h100", "--ids", "nccl").stdout.split()[:2] == [
        "NET/0-0",
        "GPU/0-1b000",
    ]


def test_a_faulty_link_of_a_path_is_marked():
    pair = ("topo", "paths", "GPU0", "mlx5_0", "--from", "@dgx-h100-nic-x8")
    (marked,) = (line for line in railgauge(*pair).stdout.splitlines() if "both ends support" in line)
    assert "0000:18:00.0" in marked
    assert marked.endswith("<- runs x8 Gen5, both ends support x16 Gen5")
    (fault,) = json.loads(railgauge(*pair, "--json").stdout)["paths"][0]["faults"]
    assert (fault["to"], fault["fault"]) == ("NIC/0-18000", "runs x8 Gen5, both ends support x16 Gen5")
    assert "both ends support" not in railgauge(*pair[:3], "mlx5_3", *pair[4:]).stdout


def test_gpus_whose_nvlinks_are_down_say_so_where_their_path_is_another(tmp_path):
    path = tmp_path / "machine.toml"
    down = "".join(f"gpus.0.links.{link}.state = 0\n" for link in range(12))
    path.write_text(f'base = "{fixture_path("a100-4gpu")}"\n[facts.nvml]\n{down}')
    for pair in (("GPU0", "GPU1"), ("GPU1", "GPU0")):
        (marked,) = (
            line
            for line in railgauge("topo", "paths", *pair, "--from", str(path)).stdout.splitlines()
            if "<- 0" in line
        )
        assert marked.split()[0] == "LOC"
        assert "0000:01:00.0" in marked
        assert marked.endswith("<- 0 of 12 NVLinks are up")
    for pair in (("GPU0", "mlx5_0"), ("GPU1", "GPU2")):
        assert "NVLinks are up" not in railgauge("topo", "paths", *pair, "--from", str(path)).stdout


def test_one_device_has_its_paths():
    every, own = (
        railgauge("topo", "paths", *end, "--from", "@dgx-h100").stdout.splitlines() for end in ((), ("GPU3",))
    )
    assert own == [line for line in every if line.startswith("GPU3 ")]
    assert len(own) > 7
    assert not [line for line in every if " LOC " in line]
    listed = json.loads(railgauge("topo", "paths", "GPU3", "--from", "@dgx-h100", "--json").stdout)["paths"]
    assert {path["from"] for path in listed} == {"GPU/0-61000"}
    assert "LOC" in {path["type"] for path in listed}
