# SPDX-License-Identifier: Apache-2.0
"""What texts set: each form that a setting is written in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.facts.written_settings import written_settings

FORMS = {
    "shell": "export NCCL_IB_HCA=mlx5_0,mlx5_1; export GLOO_SOCKET_IFNAME='eth0'  # why",
    "batch system": "#SBATCH --export=ALL,NCCL_IB_HCA=mlx5_0,mlx5_1,GLOO_SOCKET_IFNAME=eth0",
    "csh": "setenv NCCL_IB_HCA mlx5_0,mlx5_1\nsetenv GLOO_SOCKET_IFNAME eth0",
    "mpirun": "mpirun -np 2 -x NCCL_IB_HCA=mlx5_0,mlx5_1 -x PATH -x GLOO_SOCKET_IFNAME=eth0 ./a.out",
    "docker": 'docker run -e "NCCL_IB_HCA=mlx5_0,mlx5_1" --env GLOO_SOCKET_IFNAME=eth0 image',
    "Dockerfile": "ENV NCCL_IB_HCA mlx5_0,mlx5_1\nENV PATH=/a \\\n    GLOO_SOCKET_IFNAME=eth0",
    "Kubernetes": (
        'env:\n- name: NCCL_IB_HCA  # two\n  value: "mlx5_0,mlx5_1"\n- {name: GLOO_SOCKET_IFNAME, value: eth0}'
    ),
    "Compose": "environment:\n  NCCL_IB_HCA: mlx5_0,mlx5_1\n  GLOO_SOCKET_IFNAME: eth0",
    "JSON": '{"NCCL_IB_HCA": "mlx5_0,mlx5_1", "GLOO_SOCKET_IFNAME": "eth0"}',
    "Python": 'os.environ["NCCL_IB_HCA"] = "mlx5_0,mlx5_1"\nos.environ.setdefault("GLOO_SOCKET_IFNAME", "eth0")',
    "quoted": "> export NCCL_IB_HCA=mlx5_0,mlx5_1\n> export GLOO_SOCKET_IFNAME=eth0",
    "a default": "NCCL_IB_HCA=${NCCL_IB_HCA:-mlx5_0,mlx5_1}\nGLOO_SOCKET_IFNAME=${IF:-eth0}",
    "later wins": "NCCL_IB_HCA=x\nGLOO_SOCKET_IFNAME=eth0\n#NCCL_IB_HCA=y\nexport NCCL_IB_HCA=mlx5_0,mlx5_1",
}


@pytest.mark.parametrize("form", FORMS)
def test_settings_are_read_as_they_are_written(form):
    settings, computed = written_settings(FORMS[form].encode(), "job")
    assert {one.name: one.value for one in settings} == {"NCCL_IB_HCA": "mlx5_0,mlx5_1", "GLOO_SOCKET_IFNAME": "eth0"}
    assert not computed
    assert not any(one.is_of_file for one in settings)


def test_each_setting_has_its_line():
    settings, _ = written_settings(b"#!/bin/bash\nexport NCCL_DEBUG=INFO\n", "job.sh")
    assert [one.origin for one in settings] == ["job.sh:2"]


def test_what_is_computed_is_not_known():
    text = b"export NCCL_IB_HCA=$(ls /sys/class/infiniband)\nNCCL_DEBUG=$LEVEL\nNCCL_ALGO='$x'\nFOO=1 PATH=/bin\n"
    settings, computed = written_settings(text, "job.sh")
    assert ([one.name for one in settings], computed) == (["NCCL_ALGO"], ("NCCL_IB_HCA", "NCCL_DEBUG"))


@given(st.text(alphabet="NCL_=:- \n\"'{}$,nameval[]()#`", max_size=200))
def test_any_text_has_settings_or_none(text):
    written_settings(text.encode(), "x")
