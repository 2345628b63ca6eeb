# SPDX-License-Identifier: Apache-2.0
"""MPI that does not find or open its network, as its log shows (`log explain`)."""

from railgauge.topo.findings.card import FAIL, INFO, Card, Pattern

MPI_NETWORK_MISSING = Card(
    id="mpi-network-missing",
    title="MPI finds no network that it can use",
    levels=(INFO, FAIL),
    about=(
        "MPI sends through UCX or libfabric. Which network these take depends on what they were built with, on the "
        "interfaces and devices of the host, and on settings that leave too few. NCCL chooses its own network later."
    ),
    remedy=(
        "unset UCX_TLS, UCX_NET_DEVICES, FI_PROVIDER and --mca settings, or name what is there; one MPI and one UCX on "
        "all nodes; an interface that is up; --mca pml ob1 --mca btl tcp,self as a test"
    ),
    sure="ucx_info -d; fi_info; ompi_info | grep -E 'pml|mtl|btl' on every node",
    shows=(
        "find_provider(170).........: OFI fi_getinfo() failure",
        "[ndv2-1:25388] [[64574,1],8] selected pml cm, but peer [[64574,1],0] on ndv2-1 selected pml ucx",
        "ucp_context.c:1451 UCX  ERROR no usable transports/devices (asked rc on network:eth0 )",
        "A requested component was not found, or was unable to be opened.  This",
    ),
    patterns=(
        Pattern(
            r"OFI (?:fi_getinfo|addrinfo)\(\) fail|atl_ofi\S* .*(?:fi_getinfo error|can't find suitable provider)"
            r"|MPIDI_OFI_\w*find_provider|OFI fi_(?:fabric|domain|endpoint) failed",
            FAIL,
            "libfabric offers MPI or oneCCL no network: no interface is up, FI_PROVIDER names one that is not "
            "there, or its provider cannot do what MPI asks for",
        ),
        Pattern(
            r"failed an OFI Libfabric library call",
            FAIL,
            "a call of libfabric fails with the provider that Open MPI chose: leave that out "
            "(--mca mtl_ofi_provider_exclude psm3, FI_PROVIDER), or OFI (--mca mtl ^ofi)",
        ),
        Pattern(
            r"selected pml \w+, but peer .* selected pml",
            FAIL,
            "processes chose different layers of MPI: devices or builds differ between nodes; --mca pml NAME on all",
        ),
        Pattern(
            r"requested component was not found|[Nn]o components were able to be opened|PML \w+ cannot be selected"
            r"|[Nn]o available pml components",
            FAIL,
            "a component that the command asks for is not part of this MPI, its libraries are missing on a host, or it "
            "finds no device that it can use",
        ),
        Pattern(
            r"UCX  ?WARN .*\btransports? .*'(?:cuda|rocm|ze)_\w+'.* (?:is|are) not available",
            FAIL,
            "UCX is without its transports for the memory of GPUs, which it then takes for the host's: UCX was built "
            "or installed without CUDA or ROCm, or the library of one of them is not found",
        ),
        Pattern(
            r"no usable transports/devices|no active messages transport"
            r"|UCX  ?WARN .*(?:transport|device)s? '\S+' (?:is|are) not available",
            FAIL,
            "UCX has no transport: UCX_TLS and UCX_NET_DEVICES leave out what the host has",
        ),
        Pattern(
            r"hfi_userinit: \w+ command failed",
            FAIL,
            "an Omni-Path device gives the process no context: other processes hold them all, or its driver is another "
            "one than libpsm2 expects",
        ),
        Pattern(
            r"Failed to get \S+ \(unit \d+\) cpu set",
            FAIL,
            "PSM3, a provider of libfabric, takes an interface that has no RDMA device: leave it out "
            "(FI_PROVIDER=^psm3)",
        ),
        Pattern(
            r"PSM\d? can't open (?:hfi|nic) unit|\w+ fabric is not available and fallback",
            FAIL,
            "MPI cannot open an Omni-Path or RDMA device: other processes use its contexts, it is down, or the limit "
            "on locked memory is too low",
            general=1,
            follows=True,
        ),
        Pattern(
            r"No preset parameters were found for the device|error initializing an OpenFabrics device"
            r"|more than one active ports on host",
            INFO,
            "Open MPI's old transport for RDMA (openib) warns: harmless where MPI uses UCX, as with --mca pml ucx, "
            "and "
            "to NCCL, which does not use it (--mca btl ^openib says no more)",
        ),
        Pattern(
            r"Hcol library init failed",
            INFO,
            "hcoll, which MPI takes for its own collectives where NVIDIA's NICs are, does not start and is left out",
        ),
        Pattern(
            r"OFI EP enable failed",
            FAIL,
            "MPI cannot open an endpoint of libfabric: another job or process of the node has its address or its "
            "place on the NIC",
        ),
        Pattern(
            r"(?:Message too long|[Mm]essage truncated|MPI_ERR_TRUNCATE|truncation error)",
            FAIL,
            "a message is longer than the receive that it meets: the program's ranks disagree on a size or on an order",
            common=True,
        ),
        Pattern(
            r"OFI poll failed|OFI \w+ (?:send|recv|write|read) failed"
            r"|\bfi_cq_read\w*: (?!.*access error)\S",
            FAIL,
            "a transfer of MPI through libfabric failed: mostly its peer has ended, or the network lost it; the line "
            "has "
            "libfabric's reason",
        ),
        Pattern(
            r"processes are unable to reach each other|could not find endpoint with port",
            FAIL,
            "MPI has no network by which two processes reach each other: no common device or subnet, or a component "
            "that "
            "could is left out",
        ),
        Pattern(
            r"MPI_INIT has failed|Fatal error in (?:internal_|P?MPI_)Init|MPI_INIT failed|Failed to create UCP worker",
            FAIL,
            "MPI does not start",
            general=1,
            follows=True,
        ),
    ),
    links=("https://github.com/openucx/ucx/issues/4224", "https://github.com/pmodels/mpich/issues/6612"),
)
