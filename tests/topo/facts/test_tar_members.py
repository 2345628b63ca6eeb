# SPDX-License-Identifier: Apache-2.0
"""Members of tar archives: what is harmless is read, all else is an error that names it."""

import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.topo.errors import InputError
from railgauge.topo.facts import tar_members
from railgauge.topo.facts.tar_members import FILE, FOLDER, LINK, read_members

PARTS = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=120).filter(
    lambda part: part not in (".", "..")
)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("/".join)
KINDS = {FILE: tarfile.REGTYPE, LINK: tarfile.SYMTYPE, FOLDER: tarfile.DIRTYPE}


def archive(*members, form=tarfile.PAX_FORMAT):
    """A tar of (name or TarInfo, bytes or None)."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as tar:
        for name, content in members:
            member = tarfile.TarInfo(name) if isinstance(name, str) else name
            member.size = len(content or b"")
            tar.addfile(member, io.BytesIO(content or b""))
    return file.getvalue()


def special(name, kind, target="", **pax):
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.pax_headers = kind, target, pax
    return member


@given(
    members=st.dictionaries(NAMES, st.tuples(st.sampled_from([FILE, LINK, FOLDER]), st.binary(max_size=1500), PARTS)),
    form=st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]),
)
def test_what_tarfile_writes_is_read(members, form):
    rows = [
        (special(name, KINDS[kind], target if kind == LINK else ""), content if kind == FILE else b"")
        for name, (kind, content, target) in members.items()
    ]
    read = {member.name: member for member in read_members(archive(*rows, form=form), "x")}
    assert set(read) == set(members)
    for name, (kind, content, target) in members.items():
        assert read[name].kind == kind
        assert read[name].content == (content if kind == FILE else b"")
        assert kind != LINK or read[name].target == target


@pytest.mark.parametrize(
    ("member", "what"),
    [
        (special("root/../../evil", tarfile.REGTYPE), "outside"),
        (special("/etc/passwd", tarfile.REGTYPE), "outside"),
        (special("root/hard", tarfile.LNKTYPE, "manifest.json"), "hard link"),
        (special("root/sda", tarfile.BLKTYPE), "a device"),
        (special("root/tty", tarfile.CHRTYPE), "a device"),
        (special("root/fifo", tarfile.FIFOTYPE), "a pipe"),
        (special("root/holes", tarfile.GNUTYPE_SPARSE), "sparse"),
        (special("root/holes", tarfile.REGTYPE, **{"GNU.sparse.map": "0,1"}), "sparse"),
        (special("root/dump", b"D"), "neither"),
        (special("root/" + "long/" * 1000 + "name", tarfile.REGTYPE), "invalid name"),
        (special("root/bomb", tarfile.REGTYPE, comment="x" * 70_000), "headers of more than"),
    ],
)
def test_what_could_mislead_is_refused_by_name(member, what):
    with pytest.raises(InputError, match=what):
        list(read_members(archive((member, b"")), "c.tar"))


def test_a_member_that_comes_twice_is_refused():
    with pytest.raises(InputError, match="'a' is there twice"):
        list(read_members(archive(("a", b"1"), ("a", b"2")), "c.tar"))


def test_too_many_members_are_refused(monkeypatch):
    monkeypatch.setattr(tar_members, "MAX_MEMBERS", 9)
    with pytest.raises(InputError, match="more than 9"):
        list(read_members(archive(*((f"{i}", b"") for i in range(10))), "c.tar"))


@pytest.mark.parametrize("keep", [0, 1, 511, 512, 600, 1024])
def test_a_cut_archive_is_refused(keep):
    whole = archive(("a", b"x" * 100), ("b", b"y"))
    with pytest.raises(InputError, match="damaged"):
        list(read_members(whole[:keep], "c.tar"))


def test_a_changed_header_is_refused():
    tar = bytearray(archive(("a", b"x")))
    tar[0] ^= 1
    with pytest.raises(InputError, match="damaged: bad checksum"):
        list(read_members(bytes(tar), "c.tar"))


def test_a_changed_header_further_on_is_refused():
    tar = bytearray(archive(("a", b"x"), ("b", b"y")))
    tar[1024] ^= 1
    with pytest.raises(InputError, match="a damaged header at byte 1024"):
        list(read_members(bytes(tar), "c.tar"))


def test_names_are_made_plain():
    members = read_members(archive(("./a//b", b"1"), (special("./c/", tarfile.DIRTYPE), b"")), "c.tar")
    assert [(member.name, member.kind) for member in members] == [("a/b", FILE), ("c", FOLDER)]


def test_a_long_name_in_two_fields_is_one():
    name = "/".join(["folder" * 10] * 3)
    assert [member.name for member in read_members(archive((name, b"1"), form=tarfile.USTAR_FORMAT), "c.tar")] == [name]


def test_an_archive_from_before_posix_is_read():
    file, folder = special("a", tarfile.AREGTYPE), special("b/", tarfile.AREGTYPE)
    members = read_members(archive((file, b"1"), (folder, b"")), "c.tar")
    assert [(member.name, member.kind) for member in members] == [("a", FILE), ("b", FOLDER)]


def with_header(tar: bytes, start: int, value: bytes) -> bytes:
    """The archive with bytes of its first header replaced, and its checksum right again."""
    header = bytearray(tar[:512])
    header[start : start + len(value)] = value
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + tar[512:]


def test_a_size_in_base_256_is_read():
    tar = with_header(archive(("a", b"hello")), 124, b"\x80" + (5).to_bytes(11))
    assert [member.content for member in read_members(tar, "c.tar")] == [b"hello"]


@pytest.mark.parametrize(
    "size", [b"-0000000005\0", b"0x000000005\0", b"00000000009\0", b"\xff" * 12, b"\x80" + b"\xff" * 11]
)
def test_a_size_that_is_none_or_too_much_is_refused(size):
    with pytest.raises(InputError, match="damaged"):
        list(read_members(with_header(archive(("a", b"hello")), 124, size), "c.tar"))


@pytest.mark.parametrize(
    "record", [b"8 path=b\n", b"99 path=b\n", b"path=b\n", b"10 pathxb\n", b"0 path=b\n", b"-1 path=b\n"]
)
def test_extended_headers_that_are_none_are_refused(record):
    tar = archive((special("x" * 8, b"x"), b""), ("a", b"1"))
    tar = with_header(tar, 124, b"%011o\0" % len(record))
    with pytest.raises(InputError, match="damaged"):
        list(read_members(tar[:512] + record.ljust(512, b"\0") + tar[512:], "c.tar"))
