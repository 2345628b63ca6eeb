# SPDX-License-Identifier: Apache-2.0
"""What railgauge cluster link starts, and what it refuses; that it measures is shown in test_link_hosts.py."""

import pytest
from tests.cli.command import railgauge


def cluster_link(*args, status=0, **env):
    done = railgauge("cluster", "link", *args, **{"SLURM_JOB_NODELIST": ""} | env)
    assert done.returncode == status, done.stderr
    return done


def test_a_rank_is_started_on_every_node_whatever_slots_it_has(tmp_path):
    hostfile = tmp_path / "hosts"
    hostfile.write_text("a1 slots=8\na2 slots=8\na3\n")
    lines = cluster_link("--hostfile", str(hostfile), "--dry-run", "-n", "5").stdout.splitlines()
    assert len(lines) == 3
    assert all("WORLD_SIZE=3" in line and "LOCAL_WORLD_SIZE=1" in line for line in lines)
    assert all(line.endswith("link -n 5") or "link -n 5" in line for line in lines)


def test_nodes_by_name_become_ranks():
    first = cluster_link("g3", "g1", "-w", "g[1-4]", "--dry-run", "--one-at-a-time").stdout.splitlines()[0]
    assert "link 0 2 --one-at-a-time" in first


def test_the_nodes_of_an_allocation():
    assert len(cluster_link("--dry-run", SLURM_JOB_NODELIST="b[1-2]").stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "no nodes given"),
        (("-w", "a"), "only one node: name at least two"),
        (("a", "-w", "a,b"), "cluster link a OTHER"),
        (("a", "a", "-w", "a,b"), "cluster link a OTHER"),
        (("a", "c", "-w", "a,b"), "c is not one of the 2 nodes"),
        (("-w", "a,b", "--bisect", "--transport", "SHM"), "leave --transport out"),
        (("-w", "a,b", "-o", "x.html"), "use a name that ends in"),
    ],
)
def test_what_makes_no_sense_is_refused(args, words):
    done = cluster_link(*args, status=2)
    assert words in done.stderr
    assert done.stdout == ""
