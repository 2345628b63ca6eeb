# SPDX-License-Identifier: Apache-2.0
"""What NCCL itself takes from its configuration files, byte by byte, is what we read; each release by its rules."""

import os
import random
import shutil
import subprocess

import pytest
from tests.nccl.library import CASES, Nccl, Ours, each_release
from tests.patience import HANGS_AFTER_S

from railgauge.topo.facts.sources.nccl_settings import LONGEST, name_of, pairs

CONF_FILE_SINCE, COMMENTS_SINCE, NEW_HOME_SINCE = (2, 23), (2, 26), (2, 30)
"""NCCL_CONF_FILE; lines that begin with # set nothing; $HOME, and carriage returns at the ends of lines are removed."""
OF_SYSTEM = ("passwd", "group", "nsswitch.conf", "ld.so.cache", "hosts", "localtime")
TEXTS = (
    b"", b"NCCL_A=1", b"NCCL_A=1\n", b"\n\nNCCL_A=1\n\n", b"NCCL_A=1\r\nNCCL_B=x\r\n", b"NCCL_A=1\r", b"NCCL_A=1\r\r\n",
    b"NCCL_A=\r\n", b"\r\nNCCL_A=1\r\n", b"NCCL_A=1\r2\n", b"NCCL_A = 1\n NCCL_B=2\n\tNCCL_C=3\nNCCL_D\t=4\n",
    b"NCCL_A=1  \t", b"NCCL_A=1  \t\n", b"#NCCL_A=1\nNCCL_B=1 # x\n #NCCL_C=1\n#\n#=\n", b"NCCL_A=1\nNCCL_A=2\n",
    b"NCCL_A=\n", b"NCCL_A\nNCCL_B=2\n", b"NCCL_A=a=b\n", b"=1\n=\nNCCL_B=2\n",
    b"FOO=1\nCUDA_VISIBLE_DEVICES=0\nnccl_a=1\n",
    b"NCCL_A=a\x0cNCCL_B=b\n", b"NCCL_A=a\x0bNCCL_B=b\n", b"NCCL_A=a\x1cNCCL_B=b\n",
    "NCCL_A=a\u0085b\u2028c\n".encode(),
    b"NCCL_A=a\0b\nNCCL_B=2\n", b"NC\0CL_A=a\nNCCL_B=2\n", b"NCCL_A\0=a\n\0NCCL_B=2\n", "NCCL_A=é\n".encode(),
    b"NCCL_A=\xe9\nNCCL_B=2\n", b'NCCL_A="1"\n', b"export NCCL_A=1\nNCCL_B=2\n", b"\xef\xbb\xbfNCCL_A=1\nNCCL_B=2\n",
    *(b"NCCL_A=" + b"x" * size + end for size in (1022, 1023, 1024, 100_000) for end in (b"\nNCCL_B=1\n", b"\r\n")),
    b"NCCL_A=" + "é".encode() * 600 + b"\n",
)  # fmt: skip
LONG_NAME = b"NCCL_" + b"N" * 1500 + b"=7\nNCCL_B=1\n"
"""Which NCCL before 2.23 runs on into what lies behind it in memory."""
WORDS = b"NCCL_A NCCL_B NCCL_C FOO = = = = # \r \n \n \n \t 1 x"
PARTS = (*WORDS.split(b" "), b" ", b"\r\n", b"\0", b"\xe9", b"=" + b"y" * 600)


class Home:
    """A home by $HOME, another by the user database, a file for NCCL_CONF_FILE, and an /etc of its own."""

    def __init__(self, folder):
        self.etc, self.home, self.user = (folder / name for name in ("etc", "home", "user"))
        for place in (self.etc, self.home, self.user):
            place.mkdir()
        for name in OF_SYSTEM:
            if os.path.exists(f"/etc/{name}"):
                shutil.copy(f"/etc/{name}", self.etc)
        rows = (self.etc / "passwd").read_text().splitlines()
        fields = next(row.split(":") for row in rows if row.split(":")[2] == str(os.getuid()))
        (self.etc / "passwd").write_text(":".join([*fields[:5], str(self.user), "/bin/sh"]) + "\n")
        self.files = {
            "given": folder / "given",
            "home": self.home / ".nccl.conf",
            "user": self.user / ".nccl.conf",
            "etc": self.etc / "nccl.conf",
        }
        self.prefix = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', str(self.etc))

    def write(self, **texts):
        for name, path in self.files.items():
            path.unlink(missing_ok=True)
            if name in texts:
                path.write_bytes(texts[name])

    def read(self, names):
        return [self.files[name].read_bytes() for name in names if self.files[name].exists()]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    made = Home(tmp_path_factory.mktemp("home"))
    tried = subprocess.run([*made.prefix, "true"], capture_output=True, text=True, check=False, timeout=HANGS_AFTER_S)
    if tried.returncode:
        pytest.skip(f"no /etc of its own: {tried.stderr.strip()}")
    return made


@each_release
def test_nccl_and_we_read_the_same_of_every_text(home, release):
    with Nccl(release, *home.prefix) as nccl, Ours(*home.prefix) as ours:
        for text in (*TEXTS, *([LONG_NAME] if release.version >= CONF_FILE_SINCE else [])):
            home.write(etc=text)
            judge(home, release, nccl, ours, {})


@each_release
def test_nccl_and_we_read_the_same_files_in_the_same_order(home, release):
    generator = random.Random(str(release))
    with Nccl(release, *home.prefix) as nccl, Ours(*home.prefix) as ours:
        for _ in range(CASES):
            names = generator.sample(sorted(home.files), generator.randint(1, 4))
            home.write(**{name: random_text(generator) for name in names})
            for _ in range(3):
                judge(home, release, nccl, ours, random_environment(home, generator))


def judge(home, release, nccl, ours, environment):
    """The variables that NCCL left, by the rules of its release; then our reader's, which knows those of the newest."""
    answer, said = nccl.under(environment), ours.ask(environment)
    left = {name: value for name, value in answer.environment.items() if not name.startswith("#")}
    assert left == answer.environment or release.version < COMMENTS_SINCE
    conf = environment.get("NCCL_CONF_FILE") and release.version >= CONF_FILE_SINCE
    of_user = "user" if release.version < NEW_HOME_SINCE else "home" if "HOME" in environment else None
    order = [path for path in ("given" if conf else of_user, "etc") if path]
    if conf and environment["NCCL_CONF_FILE"] != str(home.files["given"]):
        order = order[1:]
    strips = release.version >= NEW_HOME_SINCE
    wanted = dict(environment)
    for text in home.read(order):
        for name, value in pairs(text.decode("utf-8", "surrogateescape")):
            kept = value.removesuffix(b"\r") if strips else value
            wanted.setdefault(name.decode("latin-1"), kept.decode("latin-1"))
    assert left == wanted, (home.read(order), environment)
    if strips:
        assert said["left"] == left
    if environment.get("NCCL_CONF_FILE") or not strips:
        return
    check_shown(left, environment, said["settings"])


def check_shown(left, environment, settings):
    """`env` shows what NCCL set: all but names that no program looks for, and no more."""
    shown = {name: value for name, value, _ in settings}
    for name, value in left.items():
        text = value.encode("latin-1").decode("utf-8", "replace")
        named = name_of(name.encode("latin-1").decode("utf-8", "surrogateescape") + "=")
        if named and name not in environment:
            assert shown.pop(named) == text
    assert not shown


def random_text(generator):
    return b"".join(generator.choices(PARTS, k=generator.randint(1, 40)))


def random_environment(home, generator):
    environment = {"HOME": str(home.home)} if generator.random() < 0.7 else {}
    if generator.random() < 0.4:
        environment["NCCL_CONF_FILE"] = generator.choice((str(home.files["given"]), "/nonexistent", "~/.nccl.conf", ""))
    return environment | {name: "set" for name in ("NCCL_A", "FOO") if generator.random() < 0.2}


@each_release
def test_a_carriage_return_is_reported_as_the_release_takes_it(home, release):
    home.write(etc=b"NCCL_NET=IB\r\nNCCL_IB_TC=1\r\n")
    with Nccl(release, *home.prefix) as nccl, Ours(*home.prefix) as ours:
        left = nccl.under({}).environment
        assert left["NCCL_NET"] == ("IB" if release.version >= NEW_HOME_SINCE else "IB\r")
        assert ours.ask({})["settings"] == [["NCCL_IB_TC", "1", True], ["NCCL_NET", "IB", True]]


@each_release
def test_the_home_of_the_user_database_is_reported_as_the_former_one(home, release):
    home.write(home=b"NCCL_A=new\n", user=b"NCCL_A=old\n")
    environment = {"HOME": str(home.home)}
    with Nccl(release, *home.prefix) as nccl, Ours(*home.prefix) as ours:
        left, said = nccl.under(environment).environment, ours.ask(environment)
    assert left["NCCL_A"] == ("new" if release.version >= NEW_HOME_SINCE else "old")
    assert (said["settings"], said["former"]) == ([["NCCL_A", "new", False]], [["NCCL_A", "old", False]])


def test_the_longest_value_is_in_the_texts():
    assert {len(one) for text in TEXTS for _, one in pairs(text.decode("utf-8", "surrogateescape"))} >= {LONGEST}
