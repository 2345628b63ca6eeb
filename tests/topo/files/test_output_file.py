# SPDX-License-Identifier: Apache-2.0
"""The one writer: owner and mode, links, pipes, devices, streams, and what stays when it fails."""

import os
import pathlib
import re
import stat
import subprocess

import pytest
from tests.patience import HANGS_AFTER_S

from railgauge.topo.errors import UnavailableError
from railgauge.topo.files import output_file
from railgauge.topo.files.output_file import write_file

NOBODY = 65534
ROOT = pathlib.Path(__file__).parents[3]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of other users")


@pytest.fixture
def shared(tmp_path):
    """A folder as /tmp is."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_a_file_keeps_its_mode(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write_file(str(path), b"new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


def test_a_name_may_be_as_long_as_the_system_has_them(tmp_path):
    path = tmp_path / ("x" * os.pathconf(tmp_path, "PC_NAME_MAX"))
    for data in (b"old", b"new"):
        write_file(str(path), data)
        assert path.read_bytes() == data


def test_a_new_file_has_the_mode_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(str(tmp_path / "file"), b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@as_root
def test_a_file_keeps_its_owner(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    os.chown(path, NOBODY, NOBODY)
    path.chmod(0o600)
    write_file(str(path), b"new")
    found = path.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (NOBODY, NOBODY, 0o600)
    assert path.read_text() == "new"


def test_a_file_whose_owner_cannot_be_kept_stays_as_it_is(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def forbidden(*arguments):
        raise PermissionError(1, "Operation not permitted")

    there = os.lstat(path)
    other = os.stat_result((*there[:4], there.st_uid + 1, *there[5:]))
    real = os.lstat
    monkeypatch.setattr(output_file.os, "fchown", forbidden)
    monkeypatch.setattr(output_file.os, "lstat", lambda one: other if one == str(path) else real(one))
    with pytest.raises(UnavailableError, match="only root can keep"):
        write_file(str(path), b"new")
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["file"])


@as_root
@pytest.mark.parametrize("way", ["direct", "through another link", "a folder"])
def test_the_link_of_another_user_in_a_shared_folder_is_not_followed(shared, tmp_path, way):
    precious = tmp_path / "precious"
    precious.write_text("old")
    link = shared / "out.json"
    link.symlink_to(tmp_path if way == "a folder" else precious)
    os.lchown(link, NOBODY, NOBODY)
    path = {"direct": link, "a folder": link / "precious"}.get(way, tmp_path / "mine")
    if way == "through another link":
        path.symlink_to(link)
    with pytest.raises(UnavailableError, match="link of another user"):
        write_file(str(path), b"new")
    assert precious.read_text() == "old"


@as_root
def test_the_file_of_another_user_in_a_shared_folder_is_not_written(shared):
    path = shared / "out.json"
    path.write_text("old")
    os.chown(path, NOBODY, NOBODY)
    with pytest.raises(UnavailableError, match="file of another user"):
        write_file(str(path), b"new")
    assert path.read_text() == "old"


def test_links_of_ones_own_are_followed_everywhere(shared, tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "middle").symlink_to("real")
    (shared / "link").symlink_to("../middle")
    write_file(str(shared / "link"), b"new")
    assert (tmp_path / "real").read_text() == "new"
    assert (shared / "link").is_symlink()
    assert (tmp_path / "middle").is_symlink()


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link").symlink_to("later")
    write_file(str(tmp_path / "link"), b"new")
    assert (tmp_path / "later").read_text() == "new"


def test_a_loop_of_links_ends(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UnavailableError, match="loop"):
        write_file(str(tmp_path / "a"), b"new")


@pytest.mark.parametrize("name", ["", "folder", "folder/", "none/file", "none/", "file/below", "a\0b"])
def test_what_cannot_be_written_is_told(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    with pytest.raises(UnavailableError, match="cannot write"):
        write_file(f"{tmp_path}/{name}", b"new")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    assert os.listdir(tmp_path / "folder") == []


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """On a file system of its own, one that is full."""
    script = f"""
mount -t tmpfs -o size=64k none {tmp_path} || exit 9
head -c 20000 /dev/zero > {tmp_path}/file
cp {tmp_path}/file {tmp_path}/before
.venv/bin/python -c '
from railgauge.topo.files.output_file import write_file
write_file("{tmp_path}/file", bytes(60000))' \
  2>&1 | tail -1
cmp {tmp_path}/file {tmp_path}/before && ls {tmp_path}
"""
    python = script.replace(".venv/bin/python", os.sys.executable)
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", python],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=HANGS_AFTER_S,
        check=False,
    )
    if done.returncode == 9 or "unshare" in done.stderr:
        pytest.skip("no mounts here")
    assert "No space left on device" in done.stdout
    assert done.stdout.split()[-2:] == ["before", "file"], done.stdout + done.stderr


def test_an_interrupt_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(output_file.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(str(path), b"new")
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["file"])


def test_a_pipe_that_nobody_reads_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(output_file, "READER_S", 0.0)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnavailableError, match="no reader opened"):
        write_file(str(tmp_path / "pipe"), b"new")


def test_a_descriptor_by_its_name_is_written_to():
    reader, writer = os.pipe()
    for name in (f"/dev/fd/{writer}", f"/proc/self/fd/{writer}", f"/proc/{os.getpid()}/fd/{writer}"):
        write_file(name, b"text")
        assert os.read(reader, 9) == b"text"
    os.close(writer)
    os.close(reader)


def test_a_link_to_a_stream_is_the_stream(tmp_path):
    reader, writer = os.pipe()
    (tmp_path / "link").symlink_to(f"/dev/fd/{writer}")
    write_file(str(tmp_path / "link"), b"text")
    os.close(writer)
    assert os.read(reader, 9) == b"text"
    os.close(reader)


def test_nothing_else_writes_files():
    """Of what a user names. NCCL_DEBUG_FILE is added to, and a job's shared file is where its ranks meet."""
    allowed = ("topo/files/output_file.py", "topo/facts/described/files.py", "transports/nccl_log.py")
    allowed += ("transports/store/file_store.py", "topo/facts/capture.py", "collectives/launch/probe.py")
    allowed += ("cli/cluster/collector.py",)  # a file in a node's memory
    opens = re.compile(r"""(?<!fd)open\([^)]*["'](?:[wax]b?\+?|r\+b?)["']|\.write_(?:text|bytes)\(|O_CREAT|O_WRONLY""")
    found = {
        str(path.relative_to(ROOT))
        for folder in ("cli", "topo", "collectives", "transports")
        for path in (ROOT / folder).rglob("*.py")
        if any(opens.search(line) and "devnull" not in line for line in path.read_text().splitlines())
    }
    assert found - set(allowed) == set()
