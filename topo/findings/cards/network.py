# SPDX-License-Identifier: Apache-2.0
"""The network between nodes: hosts, interfaces, addresses, routes and firewalls."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern
from railgauge.topo.findings.completions import ended_with

HOST_ID_COLLISION = Card(
    id="host-id-collision",
    title="NCCL cannot tell a host from others",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "NCCL takes ranks to be on one host when host name and boot id are equal (or NCCL_HOSTID, where it is set). "
        "Cloned VMs and containers without a boot id look like one host that has its GPUs twice."
    ),
    effect="NCCL assumes that ranks of hosts with equal ids share memory and GPUs, and stops or hangs",
    remedy="give each host its own name, or set NCCL_HOSTID to a different value on each",
    sure="cat /proc/sys/kernel/random/boot_id on every node: no two are equal; railgauge cluster check compares them",
    passes="host name and boot id identify this host",
    reads=("/proc/sys/kernel/hostname", "/proc/sys/kernel/random/boot_id", "NCCL_HOSTID"),
    shows=("NCCL WARN Duplicate GPU detected : rank 8 and rank 0 both on CUDA device 1b000",),
    shared_with=("duplicate-gpu",),
    links=("https://github.com/NVIDIA/nccl/issues/1241", "https://github.com/NVIDIA/nccl/issues/324"),
)
SOCKET_IFNAME_VIRTUAL = Card(
    id="socket-ifname-virtual",
    title="NCCL uses an interface that reaches no other machine",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Without NCCL_SOCKET_IFNAME NCCL chooses by name alone: ib* first, then any but docker*, lo and virbr*. "
        "Container bridges, tunnels and veth ends look like usable interfaces. A list that excludes, as ^docker0, "
        "replaces that order and admits lo. The first interface carries the bootstrap: ranks of other nodes cannot "
        "connect to it."
    ),
    remedy=(
        "set NCCL_SOCKET_IFNAME to the interface that all nodes have in one network, such as NCCL_SOCKET_IFNAME==eth0 "
        "(= means the whole name)"
    ),
    sure="NCCL_DEBUG=INFO: the interface after 'Bootstrap :'; then ping its address from another node",
    passes="the interfaces that NCCL uses lead to other machines, as far as their names and kinds tell",
    reads=("getifaddrs", "/sys/class/net/*/{device,uevent}", "NCCL_SOCKET_IFNAME"),
    shows=(
        "NCCL WARN socketPollConnect: Connect to 172.17.0.1<56849> returned 113(No route to host)",
        "NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>",
    ),
    hints=("NCCL INFO NET/Socket : Using [0]docker0:172.17.0.1<0>",),
    patterns=(
        Pattern(
            r"[Gg]loo.*(?:no error|remote=\[(?:127\.|::1\]))|gloo/transport.*connect \[(?:127\.|::1\])",
            FAIL,
            "gloo's ranks could not connect: an interface, or what the host's name resolves to (127.0.1.1 in "
            "/etc/hosts), does not reach the others; GLOO_SOCKET_IFNAME chooses it",
        ),
        Pattern(
            r"\bss\d\.ss_family\b|gloo/.*address family mismatch",
            FAIL,
            "gloo's ranks have addresses of two families, one IPv4 (2) and the other IPv6 (10): their hosts' names "
            "resolve differently; GLOO_SOCKET_IFNAME or /etc/hosts gives all of them one family",
        ),
        Pattern(
            r"Unable to resolve hostname to a \(local\) address",
            FAIL,
            "gloo uses the loopback address, as the host's own name resolves to none of its addresses; "
            "GLOO_SOCKET_IFNAME chooses an interface",
            suspect=True,
        ),
        Pattern(
            r"(?:[Cc]onnect|dest_addr).*\b172\.(?:17\.\d{1,3}\.\d{1,3}|(?:1[89]|2\d|3[01])\.0\.1)\b"
            r".*(?:refused|No route|timed out|unreachable|connection abort)|timed out.*connect to \(172\.17\.",
            FAIL,
            "a rank connects to an address of one of docker's networks (172.17.0.0/16, the first of 172.18.0.0/16 and "
            "so on), which every host has for itself: NCCL_SOCKET_IFNAME names the interface of the common network",
        ),
        Pattern(
            r"[Cc]onnect\S* to (?:169\.254\.|\[?fe80:).*(?:failed|refused|returned|No route|timed out|unreachable)",
            FAIL,
            "a rank connects to a link-local address, which a peer chose for itself: NCCL_SOCKET_IFNAME on that host "
            "has to name the interface of the common network",
        ),
        Pattern(
            r"socket\w*Connect\w*: Connect to (?:127\.|\[?::1).*(?:failed|returned)|NCCL WARN Connect to 127\..*failed",
            FAIL,
            "a rank connects to the loopback address of a peer, at which only ranks of the peer's own host reach it: "
            "NCCL_SOCKET_IFNAME names the interface of the common network; on one host the peer has ended",
        ),
        Pattern(
            r"received unexpected process identifier|accepted a TCP connection from what appears",
            FAIL,
            "Open MPI connects over an interface on which several hosts have one address, such as docker0 or virbr0: "
            "name the network that all nodes share (--mca btl_tcp_if_include 10.0.0.0/24)",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/913", "https://github.com/NVIDIA/nccl/issues/286"),
)
SOCKET_IFNAME_NOMATCH = Card(
    id="socket-ifname-nomatch",
    title="NCCL_SOCKET_IFNAME matches no interface",
    levels=(INFO, FAIL, UNKNOWN),
    about=(
        "The setting is a list of prefixes; = asks for whole names, ^ excludes, each once and in front of the whole "
        "list. Where it matches no interface that is up and has an address NCCL does not start."
    ),
    remedy="name an interface that ip -br address shows UP with an address on every node, or unset the setting",
    sure="railgauge env; ip -br address",
    passes="NCCL_SOCKET_IFNAME is unset, or every entry names an interface with an address",
    reads=("NCCL_SOCKET_IFNAME", "getifaddrs"),
    shows=("NCCL WARN Bootstrap : no socket interface found", "NCCL WARN NET/Socket : no interface found"),
    patterns=(
        Pattern(
            r"(?i:no (?:socket |IP |usable listening )?interface found|Socket creation failed : Address family"
            r"|failed to find .*interface)",
            FAIL,
            "NCCL finds no interface to connect to the other ranks",
        ),
        Pattern(
            r"Unable to find address for: \S",
            FAIL,
            "GLOO_SOCKET_IFNAME names no interface of this host: it takes names as they are, and no ^ of what to leave "
            "out",
        ),
        Pattern(
            r"\bbind\b.*Cannot assign requested address",
            FAIL,
            "the address that a rank chose for itself is not one of its host's interfaces",
            common=True,
        ),
        Pattern(
            r"Unable to find interface for: \S",
            FAIL,
            "gloo's address is not one of its host's interfaces: what the host's name resolves to (/etc/hosts, a VPN), "
            "or what the program chose; GLOO_SOCKET_IFNAME chooses one",
        ),
        Pattern(
            r"(?:address|family \d+)\b.* is neither AF_INET",
            FAIL,
            "a rank was given an invalid address: a peer found no interface, as NCCL_SOCKET_IFNAME names none there, "
            "or is of another release of NCCL",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/177",),
)
RAIL_UNREACHABLE = Card(
    id="rail-unreachable",
    title="A rail has no routable address, or no path to other nodes",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "NCCL uses every RDMA port that is ACTIVE. One whose interface lost its address has only link-local GIDs, and "
        "RoCE v1 has no IP header: its peers on other nodes are reached at best within one switch, and connecting "
        "fails or hangs while the other rails work. A missing route, a cable in another switch, swapped rails and a "
        "wrong VLAN have the same effect: cluster check connects all nodes with each other, rail by rail."
    ),
    remedy=(
        "give the interface its own address and a route to the peers (ip route get ADDRESS from OWN-ADDRESS); check "
        "cable, VLAN, the switch's flow control and swapped rails; or leave the port out: NCCL_IB_HCA, "
        "NCCL_SOCKET_IFNAME"
    ),
    sure="ip -br address show dev NETDEV; show_gids; ip route get ADDRESS from OWN-ADDRESS; ip neighbour",
    passes="each RoCE port that NCCL uses has a routable GID of RoCE v2",
    reads=(
        "/sys/class/infiniband/*/ports/*/gids",
        "/sys/class/infiniband/*/ports/*/gid_attrs/ndevs",
        "connections between nodes (cluster check)",
    ),
    shows=(
        "NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129",
        "NCCL WARN NET/IB: Got completion from peer 10.0.0.4<50396> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=0",
        "NCCL WARN Call to ibv_modify_qp failed with error Network is unreachable",
    ),
    patterns=(
        Pattern(
            ended_with(12) + r"|[Tt]ransport retry count(?:er)? exceeded",
            FAIL,
            "a NIC's messages were not acknowledged (status 12): its peer is not reachable, or packets are lost",
        ),
        Pattern(
            ended_with(5) + r"|Work Request Flushed Error",
            FAIL,
            "a NIC dropped what was queued (status 5), because the connection had failed: the cause is an earlier "
            "error, or NICs "
            "of one host that cannot reach each other",
            follows=True,
        ),
        Pattern(
            r"ibv_modify_qp failed.*(?:Network is unreachable|No route to host|\b101\b|\b113\b)"
            r"|ibv_create_ah\b.*failed|[Uu]nable to create ah\b",
            FAIL,
            "a NIC has no route to the GID of its peer",
        ),
        Pattern(
            r"ibv_modify_qp failed.*(?:timed out|\b110\b).*remote GID ::ffff:"
            r"|[Ff]ailed to modify (?:\w+ )?QP to.*timed out",
            FAIL,
            "nothing answers at a peer's RDMA address, though both ends have one: another subnet, cable or VLAN",
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/2013", "https://github.com/NVIDIA/nccl/issues/1933"),
)
RP_FILTER_STRICT = Card(
    id="rp-filter-strict",
    title="Strict reverse-path filters between interfaces of one network",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "With several interfaces in one subnet the kernel answers and routes by the first of them. rp_filter=1 then "
        "drops packets that arrive at the others, and connections hang between some pairs only."
    ),
    remedy=(
        "sysctl net.ipv4.conf.all.rp_filter=2, arp_ignore=1 and arp_announce=2; better: one network or one policy "
        "route for each rail"
    ),
    sure="nstat -az TcpExtIPReversePathFilter; ip route get ADDRESS",
    passes="no two interfaces of one network have a strict rp_filter",
    reads=(
        "/proc/sys/net/ipv4/conf/*/rp_filter",
        "addresses and prefixes of interfaces",
        "connections between nodes, and /proc/net/netstat meanwhile (cluster check)",
    ),
    shows=("NCCL WARN socketPollConnect: Connect to 10.0.0.4<56849> returned 110(Connection timed out)",),
    shared_with=("ports-blocked",),
    links=("https://github.com/NVIDIA/nccl/issues/388",),
)
PORTS_BLOCKED = Card(
    id="ports-blocked",
    title="A firewall may block connections between nodes",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "The bootstrap and the socket transport listen on ports that the kernel chooses (ip_local_port_range); NCCL "
        "has no setting for them. firewalld and ufw reject those by default: 'No route to host' on a reachable host "
        "means a firewall that rejects. cluster check connects all nodes with each other."
    ),
    remedy=(
        "allow all TCP between the nodes (ufw allow from SUBNET; firewalld: zone trusted for the interface), and check "
        "that both ends use an interface of one network"
    ),
    sure="nc -l 50000 on one node and nc -zv NODE 50000 on another; nft list ruleset as root",
    passes="no packet filter is loaded as a kernel module, and there are enough local ports",
    reads=(
        "/sys/module/{nf_tables,ip_tables}",
        "/etc/ufw/ufw.conf",
        "/proc/sys/net/ipv4/ip_local_port_range",
        "connections between nodes (cluster check)",
    ),
    shows=(
        "NCCL WARN socketPollConnect: Connect to 10.0.0.4<56849> returned 113(No route to host)",
        "NCCL WARN socketStartConnect: Connect to 10.0.0.2<45763> failed : Software caused connection abort",
        "NCCL WARN Call to connect to 10.0.0.2<45763> failed : Connection refused",
    ),
    patterns=(
        Pattern(
            r"Call to (?:recv|send)\w* (?:from|to) \S+ failed : Connection timed out",
            FAIL,
            "a connection that was open got no answer any more: the other host or its network is gone, or a firewall "
            "or NAT between them forgot it",
            common=True,
        ),
        Pattern(
            r"(?<!ras/)\bsocket\.\w+:\d+ .*bind failed ?: Address already in use",
            FAIL,
            "a host has no free local port: connections to very many ranks (more without PXN), or of communicators "
            "that are not destroyed; net.ipv4.ip_local_port_range gives more",
        ),
        Pattern(
            r"socketPollConnect poll\(\) (?:returned|failed)",
            FAIL,
            "a rank cannot connect to another one's port: that host does not answer",
        ),
        Pattern(
            r"No route to host"
            r"|^(?!.*(?:urllib3|HTTPS?Connection)).*(?:[Cc]onnect|socket(?!\.timeout)).*(?:timed out"
            r"|Network is unreachable)",
            FAIL,
            "a rank cannot connect to another one's port",
            common=True,
            general=1,
        ),
        Pattern(
            r"Call to connect returned (?:Connection refused|No route|Connection timed out)",
            FAIL,
            "NCCL's attempts to connect to another rank failed, and were repeated: nothing listens there, that rank "
            "has ended or not started, or its address is another host's",
            suspect=True,
        ),
        Pattern(
            r"^(?!.*(?:urllib3|HTTPS?Connection)).*(?:Connection refused|returned 111\b"
            r"|Software caused connection abort)",
            FAIL,
            "nothing listens at another rank's port: that rank has ended or not started, the address is another "
            "host's, or a firewall rejects",
            common=True,
            general=1,
        ),
        Pattern(
            r"[Gg]loo.*(?:[Cc]onnect timeout|connect.*refused)|UCX +ERROR.*(?:refused|No route|timed out)"
            r"|meets grpc error, error_code: ?14|Connect to \S+<\d+> failed|failed to TCP connect to a peer MPI"
            r"|(?:[Cc]annot|[Cc]ould not|[Uu]nable to) connect to (?!https?:)[^()]{0,60}?(?:\d{1,3}\.){3}\d"
            r"|HYDU_sock_connect.*unable to connect|error dialing backend"
            r"|unable to complete a TCP connection|failed to connect to any network address of"
            r"|ssh: connect to host .*(?:refused|timed out|No route)|failed to connect to all addresses"
            r"|[Ff]ailed to connect to remote host: (?:Connection refused|Connection timed out|No route|Timeout)",
            FAIL,
            "a rank cannot connect to another one's port",
            general=1,
        ),
        Pattern(
            r"\[c10d\].*errno: 97\b",
            INFO,
            "IPv6 is off on this host, and PyTorch goes on by IPv4: harmless",
        ),
        Pattern(
            r"client socket has failed to connect to .*(?:errno: 1(?:01|10|11|13)|system error: 100(?:51|60|61|65))\b",
            FAIL,
            "a rank cannot connect to the job's store on the first node, or to another rank: nothing listens there, "
            "or a "
            "firewall is between them",
            suspect=True,
        ),
        Pattern(
            r"client socket has failed to connect to .*(?:errno: 99|system error: 10049)\b",
            FAIL,
            "the name of the job's store resolves to an address that this host cannot connect to, such as one that a "
            "container engine wrote into the hosts file: MASTER_ADDR has to name an address of the first node "
            "(127.0.0.1 for one host)",
            suspect=True,
        ),
        Pattern(
            r"to the C10d store has failed",
            FAIL,
            "a rank does not reach the job's store on the first node: it cannot connect, or the process that held the "
            "store has ended, such as another job's that used the same port",
            general=1,
            follows=True,
        ),
    ),
    links=("https://github.com/sgl-project/sglang/issues/3820", "https://github.com/NVIDIA/nccl-tests/issues/162"),
)
