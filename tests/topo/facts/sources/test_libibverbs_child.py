# SPDX-License-Identifier: Apache-2.0
"""libibverbs opened by hand, held against a made-up library with the real one's calls and structs."""

import ctypes
import shutil
import subprocess

import pytest

from railgauge.topo.facts.sources import libibverbs_child
from railgauge.topo.facts.sources.libibverbs_child import DeviceAttributes, PortAttributes, collect

LIBRARY = """
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static const char *names[] = {"mlx5_0", "shut", NULL};
void **ibv_get_device_list(int *count) { *count = 2; return (void **)names; }
const char *ibv_get_device_name(void *device) { return device; }
void *ibv_open_device(void *device) { errno = EACCES; return strcmp(device, "shut") ? device : NULL; }
int ibv_query_device(void *context, char *attributes) {
    *(uint64_t *)(attributes + 80) = UINT64_MAX;
    *(uint32_t *)(attributes + 96) = 0x2c9;
    *(int *)(attributes + 108) = 131072;
    attributes[227] = 2;
    return 0;
}
int ibv_query_port(void *context, uint8_t number, char *attributes) {
    if (number == 2) return EINVAL;
    *(int *)(attributes + 4) = 5;
    *(int *)(attributes + 8) = 3;
    *(int *)(attributes + 12) = 256;
    attributes[46] = 2;
    return 0;
}
void *ibv_alloc_pd(void *context) { return context; }
#ifdef REFUSAL
void *ibv_reg_dmabuf_mr(void *domain, uint64_t offset, size_t length, uint64_t address, int file, int access) {
    errno = file == -1 ? REFUSAL : 0;
    return NULL;
}
#endif
"""


def build(folder, monkeypatch, *flags):
    if shutil.which("cc") is None:
        pytest.skip("no C compiler here")
    (folder / "fake.c").write_text(LIBRARY)
    library = folder / "libibverbs.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", *flags, "-o", str(library), str(folder / "fake.c")], check=True)
    monkeypatch.setattr(libibverbs_child, "LIBRARY", str(library))


def test_devices_and_ports_are_read_and_what_fails_says_why(tmp_path, monkeypatch):
    build(tmp_path, monkeypatch, "-DREFUSAL=EBADF")
    first, second = collect()["devices"]
    assert (first["name"], first["max_qp"], first["vendor_id"], first["dma_buf"]) == ("mlx5_0", 131072, 0x2C9, True)
    assert first["max_mr_size"] == 2**64 - 1
    assert (first["ports"][0]["active_mtu"], first["ports"][0]["gid_tbl_len"], first["ports"][0]["link_layer"]) == (
        3,
        256,
        2,
    )
    assert first["ports"][1] == {"number": 2, "error": "Invalid argument"}
    assert second == {"name": "shut", "error": "cannot be opened: Permission denied"}


@pytest.mark.parametrize(
    ("flags", "want"), [(["-DREFUSAL=EOPNOTSUPP"], False), (["-DREFUSAL=EBADF"], True), ([], False)]
)
def test_dma_buf_by_how_a_bad_descriptor_is_refused(tmp_path, monkeypatch, flags, want):
    build(tmp_path, monkeypatch, *flags)
    assert collect()["devices"][0]["dma_buf"] is want


def test_an_absent_library_is_a_reason(monkeypatch):
    monkeypatch.setattr(libibverbs_child, "LIBRARY", "libibverbs-that-is-not-there.so.1")
    assert "cannot be loaded" in collect()["error"]


def test_the_structs_have_the_sizes_of_the_abi():
    assert ctypes.sizeof(DeviceAttributes) == 232
    assert PortAttributes.link_layer.offset == 46
