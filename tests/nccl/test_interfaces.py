# SPDX-License-Identifier: Apache-2.0
"""The bootstrap's interface that NCCL itself chooses, on random machines under random settings, is the one we name."""

import contextlib
import ipaddress
import random
import re
import socket
import subprocess

import pytest
from tests.hosts.netns import make_hosts
from tests.nccl.library import CASES, Nccl, Ours, each_release, installed
from tests.patience import HANGS_AFTER_S

NAMES = (
    "eth0", "eth1", "eth10", "ib0", "ib1", "docker0", "virbr0", "br-ab12", "veth9", "enp3s0f0np0", "bond0", "cni0",
    "tailscale0", "e", "lo1", "abcdefghijklmno",
)  # fmt: skip
SETTINGS = (
    "eth", "=eth0", "^eth", "^=eth0", "=eth1,eth0", "^docker,lo", "=eth9", "e", "^", "=", "^^eth", "=^eth0", "eth,",
    ",eth", " eth0", "eth0 ", "ETH0", "eth0:1", "=eth0:7", ":eth0", "^=", "^,", "=,", ",,", "", "eth*", "eth0\r",
    ",".join(f"x{i}" for i in range(15)) + ",eth", ",".join(f"x{i}" for i in range(16)) + ",eth,ib,lo",
)  # fmt: skip
FAMILIES = ("AF_INET6", "AF_INET", "x", "af_inet6", "")
COMM_IDS = (
    "10.1.2.9:5000", "10.1.3.9:1", "10.9.9.9:5000", "127.0.0.1:5000", "localhost:5000", "[fd00:2::9]:5000",
    "[fd00:9::9]:5000", "[fe80::1%eth0]:5000", "[::1]:5000", "fd00::1:500", "x:y", "",
)  # fmt: skip
RUNNING_SINCE = (2, 28)
"""The first release that passes over interfaces that are down or without a carrier, and virbr* before lo."""
INVERTED = (2, 29)
"""2.29.2 to 2.29.7 take the first IPv4 address that is not in the subnet of NCCL_COMM_ID's host."""


@pytest.fixture(scope="module")
def machine():
    """A namespace without interfaces but lo, and one that holds the other ends of its cables."""
    with make_hosts(2) as hosts:
        hosts.ip(0, "link", "delete", "eth0")
        yield hosts


def test_nccl_and_we_choose_the_same_interface(machine):
    if not (releases := installed()):
        pytest.skip("no NCCL: scripts/peers nccl-2.32.3 installs one")
    generator, here = random.Random(20261124), ("ip", "netns", "exec", machine.namespaces[0])
    different, chosen = [], set()
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(Ours(*here))
        libraries = {release: stack.enter_context(Nccl(release, *here)) for release in releases}
        for _ in range(CASES):
            described = rebuild(machine, generator)
            for environment in (random_settings(generator) for _ in range(3)):
                expected, answers = settled(ours, libraries, environment)
                chosen.add(expected["bootstrap"].partition(":")[0])
                for release, answer in answers.items():
                    if not is_right(answer, expected, environment, release.version):
                        different.append(f"{release} on {described} under {environment}: {answer}, not {expected}")
    assert not different, "\n".join(different[:20])
    assert len(chosen) > 6, chosen  # the cases are no fiction


def settled(ours, libraries, environment):
    """Our answer and each release's, of one state of the machine: addresses and carriers come a moment later."""
    while True:
        before = ours.ask(environment)
        answers = {release: nccl.under(environment | {"NCCL_DEBUG": "INFO"}) for release, nccl in libraries.items()}
        if ours.ask(environment) == before:
            return before, {release: interface(answer.said) for release, answer in answers.items()}


def interface(said):
    found = re.search(r"Bootstrap ?: Using (\S+)", said)
    return found[1] if found else ""


def is_right(answer, expected, environment, version):
    """Whether NCCL's answer is ours: of `run`, and without NCCL_COMM_ID the first interface of `env` too."""
    if "NCCL_COMM_ID" in environment:
        return answer == (out_of_subnet(expected, environment) if version[:2] == INVERTED else expected["bootstrap"])
    sockets = expected["sockets" if version >= RUNNING_SINCE else "former_sockets"]
    if answer.partition(":")[0] != next(iter(sockets), ""):
        return False
    return version < RUNNING_SINCE or answer == expected["bootstrap"]


def out_of_subnet(expected, environment):
    """What 2.29 takes."""
    host = environment["NCCL_COMM_ID"].rpartition(":")[0]
    try:
        target = ipaddress.ip_address(socket.gethostbyname(host))
    except (OSError, ValueError):
        return expected["bootstrap"]
    if not host or "::" in expected["bootstrap"]:
        return expected["bootstrap"]
    others = (
        f"{name}:{text}<0>"
        for name, text, network in expected["addresses"]
        if ":" not in text and target not in ipaddress.ip_network(network)
    )
    return next(others, "")


def rebuild(machine, generator):
    """Give the machine up to six other interfaces; returns them in words."""
    lines = [f"link delete {name}" for name in interfaces_of(machine)]
    described = []
    for number, name in enumerate(generator.sample(NAMES, generator.randint(0, 6))):
        four, six, local, alias, carrier, up = (
            generator.random() < chance for chance in (0.75, 0.4, 0.3, 0.1, 0.9, 0.85)
        )
        lines += [f"link add {name} type veth peer name z{number} netns {machine.namespaces[1]}"]
        lines += [f"link set {name} addrgenmode none"]
        lines += [f"address add 10.1.{number}.1/24 dev {name}"] * four
        lines += [f"address add 10.2.{number}.1/24 dev {name} label {name[:12]}:1"] * (four and alias)
        lines += [f"link set {name} up"] * up
        lines += [f"address add fd00:{number}::1/64 dev {name} nodad"] * (six and up)
        lines += [f"address add fe80::{number + 1}/64 dev {name} nodad"] * (local and up)
        described.append(f"{name}{' 4' * four}{' 6' * (six and up)}{' ll' * (local and up)}{' up' * up}")
        if carrier:
            described[-1] += " carrier"
    lines += [f"link set lo {'up' if generator.random() < 0.9 else 'down'}"]
    batch(machine.namespaces[0], lines)
    batch(machine.namespaces[1], [f"link set z{i} up" for i, text in enumerate(described) if text.endswith("carrier")])
    return described


def interfaces_of(machine):
    shown = machine.ip(0, "-o", "link")
    return [name for name in re.findall(r"^\d+: ([^:@]+)", shown, re.MULTILINE) if name != "lo"]


def batch(namespace, lines):
    text = "\n".join(lines) + "\n"
    subprocess.run(["ip", "-n", namespace, "-batch", "-"], input=text, check=True, text=True, timeout=HANGS_AFTER_S)


def random_settings(generator):
    environment = {}
    if generator.random() < 0.7:
        signs, entries = generator.choice(("", "", "^", "=", "^=", "=^")), generator.randint(1, 3)
        parts = [generator.choice((*NAMES, "lo"))[: generator.randint(1, 15)] for _ in range(entries)]
        environment["NCCL_SOCKET_IFNAME"] = generator.choice((generator.choice(SETTINGS), signs + ",".join(parts)))
    if generator.random() < 0.4:
        environment["NCCL_SOCKET_FAMILY"] = generator.choice(FAMILIES)
    if generator.random() < 0.35:
        environment["NCCL_COMM_ID"] = generator.choice(COMM_IDS)
    return environment


@each_release
def test_where_we_refuse_an_address_without_a_port_nccl_takes_it(machine, release):
    """On purpose: the port that NCCL then listens on is nobody's intention."""
    here = ("ip", "netns", "exec", machine.namespaces[0])
    machine.ip(0, "link", "set", "lo", "up")
    for comm_id in ("127.0.0.1", "127.0.0.1:x", "127.0.0.1:99999"):
        with Nccl(release, *here) as nccl, Ours(*here) as ours:
            assert nccl.under({"NCCL_COMM_ID": comm_id}).status == 0 or release.version[:2] == INVERTED
            assert ours.ask({"NCCL_COMM_ID": comm_id})["bootstrap"] == ""
