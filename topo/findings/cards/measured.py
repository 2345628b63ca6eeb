# SPDX-License-Identifier: Apache-2.0
"""What `judge` says of measured tables: nccl-tests and programs like it."""

from railgauge.topo.findings.card import FAIL, PASS, UNKNOWN, WARN, Card, Pattern

OF_TABLES = ("tables of nccl-tests and other benchmarks",)

NUMBER_LOW = Card(
    id="number-low",
    title="A measured bandwidth is below what NCCL reaches on such a machine",
    levels=(PASS, WARN, FAIL, UNKNOWN),
    about=(
        "The bus bandwidth of the largest sizes is compared with the forecast of graph predict for the same machine, "
        "ranks and collective, without the faults that check finds on it: WARN below three quarters of it, FAIL below "
        "a third. The causes named are those whose own forecast the whole curve follows."
    ),
    effect="every job that this path limits takes as much longer as the figure is lower",
    remedy=(
        "look at the causes named, the likeliest comes first; railgauge check and railgauge gdr check on each node, "
        "NCCL_DEBUG=INFO and railgauge log explain on the run; run one node alone, then two, to see which part is slow"
    ),
    sure="railgauge judge TABLE --from MACHINE; railgauge graph predict --from MACHINE",
    passes="the largest sizes reach three quarters of the forecast or more",
    reads=OF_TABLES,
)
DIP_AT_SIZE = Card(
    id="dip-at-size",
    title="Bandwidth falls at a size and recovers at larger ones, or does not",
    levels=(WARN,),
    about=(
        "A size has less than 60 % of the bandwidth of the sizes around it. Another algorithm or protocol begins "
        "there, or other work ran at that moment. Where no larger size recovers, the network breaks down under load: "
        "congestion, lost packets or links between switches."
    ),
    remedy=(
        "repeat with more iterations; if the dip stays, measure around it with NCCL_ALGO and NCCL_PROTO set, one at a "
        "time, and with a newer NCCL; a tuner plugin or a message size limit of the network may begin at that size"
    ),
    sure="all_reduce_perf around the size with -n 100; railgauge graph predict -b SIZE shows where NCCL changes",
    reads=OF_TABLES,
)
PLATEAU_EARLY = Card(
    id="plateau-early",
    title="Bandwidth stops growing at a size from which the forecast still grows",
    levels=(WARN,),
    about="From some size on a slower part limits than that which limits a healthy machine: a link, a NIC, a protocol.",
    remedy="see number-low and the causes named there",
    sure="railgauge judge TABLE --from MACHINE -o judged.svg",
    reads=OF_TABLES,
)
IN_PLACE_DIFFERS = Card(
    id="in-place-differs",
    title="In place and out of place differ by more than a quarter at large sizes",
    levels=(WARN,),
    about=(
        "Both run the same kernels over the same links. One that is slower has its buffers elsewhere: unregistered, "
        "on another NUMA node, or the first of the two warms up."
    ),
    remedy=(
        "repeat with -w 20 -n 100; if it stays, compare with registration off (-R 0) and with NCCL_LOCAL_REGISTER=0"
    ),
    reads=OF_TABLES,
)
UNIT_MISTAKEN = Card(
    id="unit-mistaken",
    title="A figure is in another unit than its column says: Gb/s for GB/s, or algbw for busbw",
    levels=(WARN,),
    about=(
        "8 Gb/s are 1 GB/s. algbw is size over time; busbw is that times 2(n-1)/n for all_reduce, (n-1)/n for "
        "all_gather, reduce_scatter and alltoall, 1 otherwise, and is what compares with links."
    ),
    remedy="compare busbw in GB/s (10^9 bytes); divide Gb/s by 8",
    reads=OF_TABLES,
)
WRONG_RESULTS = Card(
    id="wrong-results",
    title="nccl-tests found wrong results: data was damaged on its way",
    levels=(FAIL,),
    about=(
        "nccl-tests compares what each rank received with what it should have. Differences come from copies between "
        "GPUs that an IOMMU or ACS turns astray, faulty memory or links, and faults of a driver or release."
    ),
    remedy=(
        "train nothing on these GPUs; repeat with NCCL_P2P_DISABLE=1, NCCL_NET_GDR_LEVEL=LOC and NCCL_PROTO=Simple, "
        "one at a time, to see which path it is; check IOMMU and ACS, ECC counts, NVLink errors and the driver"
    ),
    sure="all_reduce_perf -b 8 -e 1G -f 2 -c 1 on one node, then on two; railgauge check",
    shows=("# Out of bounds values : 248 FAILED",),
    patterns=(
        Pattern(r"Out of bounds values : [1-9]\d* FAILED", FAIL, "nccl-tests received other data than was sent"),
    ),
    links=("https://github.com/NVIDIA/nccl-tests/issues/7",),
)
TOO_FEW_ITERATIONS = Card(
    id="too-few-iterations",
    title="A size was repeated too few times, or without warm-up, for its figure to count",
    levels=(WARN,),
    about=(
        "The first operations connect ranks and load kernels, which takes milliseconds to seconds; fewer than five "
        "repetitions show noise. nccl-tests' defaults are 20 after a warm-up."
    ),
    remedy="repeat with -w 5 -n 20, and -n 100 for sizes below 1 MiB",
    reads=OF_TABLES,
)
