# SPDX-License-Identifier: Apache-2.0
"""railgauge topo pick: words, formats, and what it refuses."""

import json
import subprocess

import pytest
from tests.cli.command import in_process as railgauge

UNTOLD = """<system version="1"><cpu numaid="-1" arch="x86_64">
<pci busid="0000:10:00.0" class="0x030200"><gpu dev="0" sm="90" rank="0" gdr="1"/></pci></cpu></system>"""


def pick(*args, **env):
    return railgauge("topo", "pick", *args, **env)


def test_the_choice_in_words():
    lines = pick("-n", "4", "--busy", "GPU0,5", "--from", "@dgx-a100").stdout.splitlines()
    assert lines[0] == "GPU2 GPU3 GPU6 GPU7"
    assert [line.split()[0] for line in lines[1:6]] == ["ring", "NICs", "left", "next", "searched"]
    assert lines[6].split() == ["rank", "0", "GPU2", "NUMA", "1", "CPUs", "16-23,144-151", "NICs", "mlx5_2:1"]


def test_gpus_that_are_all_alike_are_told_as_as_good():
    lines = pick("-n", "2", "--from", "@vm-flat").stdout.splitlines()
    assert "  next best  all others are equally good; the lower numbers win" in lines
    assert "  next best  none" in pick("-n", "8", "--from", "@vm-flat").stdout.splitlines()


def test_busy_gpus_have_any_of_their_names():
    names = ("GPU0", "0", "0000:1b:00.0", "00000000:1B:00.0", "GPU/0-1b000")
    answers = {pick("-n", "7", "--busy", name, "--from", "@dgx-h100").stdout for name in names}
    assert [answer.splitlines()[0] for answer in answers] == ["GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("-n", "8", "--busy", "GPU1"), "GPU0 GPU2"),
        (("-n", "2", "--busy", "NIC0"), "is not a GPU"),
        (("-n", "2", "--busy", "GPU77"), "unknown end"),
        (
            (
                "-n",
                "0",
            ),
            "-n 0: ",
        ),
    ],
)
def test_wrong_requests(args, words):
    done = pick(*args, "--from", "@dgx-1v")
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr


def test_no_gpu():
    done = pick("-n", "1", "--from", "@intel-2s")
    assert (done.returncode, "no GPU" in done.stderr) == (3, True)


def test_the_environment_is_for_the_shell_of_a_rank(tmp_path):
    script = tmp_path / "job.env"
    assert pick("-n", "2", "--from", "@dgx-a100", "--format", "env", "-o", str(script)).returncode == 0
    show = f'. {script}; echo "$CUDA_VISIBLE_DEVICES|$RAILGAUGE_CPUS|$RAILGAUGE_NUMA|$UCX_NET_DEVICES"'
    seen = [
        subprocess.run(["sh", "-ec", show], env=env, capture_output=True, text=True, check=True).stdout.strip()
        for env in ({}, {"OMPI_COMM_WORLD_LOCAL_RANK": "1"}, {"SLURM_LOCALID": "0"})
    ]
    assert seen == ["0,1|||", "0,1|56-63,184-191|3|mlx5_1:1", "0,1|48-55,176-183|3|mlx5_0:1"]


def test_json_by_flag_format_and_suffix(tmp_path):
    path = tmp_path / "pick.json"
    pick("-n", "2", "--from", "@h200nvl", "-o", str(path))
    documents = [json.loads(path.read_text())]
    documents += [
        json.loads(pick("-n", "2", "--from", "@h200nvl", *how).stdout) for how in (["--json"], ["--format", "json"])
    ]
    assert [document["best"]["gpus"] for document in documents] == [[0, 1]] * 3


@pytest.mark.parametrize("form", ["rankfile", "slurm", "numactl"])
def test_formats_that_need_cpus_say_so(tmp_path, form):
    path = tmp_path / "vm.xml"
    path.write_text(UNTOLD)
    done = pick("-n", "1", "--from", str(path), "--format", form)
    assert (done.returncode, done.stdout) == (3, "")
    assert "GPU0" in done.stderr
    assert "CPUs unknown" in pick("-n", "1", "--from", str(path)).stdout
