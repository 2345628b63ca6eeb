# SPDX-License-Identifier: Apache-2.0
"""NCCL's settings, in the environment and in files."""

from railgauge.topo.findings.card import FAIL, INFO, UNKNOWN, WARN, Card, Pattern

CONF_FILE_FORGOTTEN = Card(
    id="conf-file-forgotten",
    title="A configuration file of NCCL sets something",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "NCCL reads NCCL_CONF_FILE, or else ~/.nccl.conf, and always /etc/nccl.conf, and sets every name that is "
        "there, not only NCCL_*: CUDA_VISIBLE_DEVICES too. They apply to every job and container that sees them, and "
        "remain after the error they were written for is found."
    ),
    remedy=(
        "remove the line from ~/.nccl.conf or /etc/nccl.conf, or the variable from the job's scripts; a value in the "
        "environment overrides a file"
    ),
    sure="cat /etc/nccl.conf ~/.nccl.conf; railgauge env",
    passes="no configuration file of NCCL sets anything",
    reads=("NCCL_CONF_FILE or ~/.nccl.conf", "/etc/nccl.conf"),
    shows=("NCCL INFO NCCL_P2P_DISABLE set by environment to 1.",),
    links=("https://github.com/NVIDIA/nccl/issues/1008", "https://github.com/NVIDIA/nccl/issues/1466"),
)
NCCL_SETTING_IGNORED = Card(
    id="nccl-setting-ignored",
    title="NCCL does not read a setting",
    levels=(INFO, WARN, UNKNOWN),
    about=(
        "NCCL reads the settings that it knows and ignores others silently: a wrong name (NCCL_PROTOS), a blank before "
        "= in a file, a setting of an older release, or an unknown level changes nothing."
    ),
    remedy="take the name and the values from railgauge env, or remove the setting",
    sure=(
        "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=ENV prints 'NCCL_... set by environment to ...' for each setting that is "
        "read, and nothing for others; railgauge env"
    ),
    passes="every NCCL_* that is set is one that NCCL 2.30 reads",
    reads=("NCCL_* of the environment", "NCCL_CONF_FILE or ~/.nccl.conf", "/etc/nccl.conf"),
    links=("https://github.com/NVIDIA/nccl/issues/1008",),
)
NCCL_SETTING_INVALID = Card(
    id="nccl-setting-invalid",
    title="NCCL reads a setting as another value",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Numbers are read by strtoll with base 0: on, true and yes are 0, 022 is 18, 22ms is 22. Texts keep their "
        "blanks and quotes, and before 2.30 the carriage return of a file with Windows line ends. Values in files end "
        "after 1023 characters. A wrong list of algorithms stops NCCL."
    ),
    remedy="write numbers in decimal, 0 and 1 for off and on, texts without blanks and quotes",
    sure="NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=ENV prints the value that was read; railgauge env",
    passes="NCCL reads every NCCL_* that is set as it is written",
    reads=("NCCL_* of the environment", "NCCL_CONF_FILE or ~/.nccl.conf", "/etc/nccl.conf"),
    shows=("NCCL INFO Invalid value on for NCCL_IB_DISABLE, using default 0.",),
    hints=("NCCL INFO NCCL_IB_TIMEOUT set by environment to 18.",),
    patterns=(
        Pattern(
            r"Invalid value .* for NCCL_\w+",
            WARN,
            "NCCL does not understand the value of a setting: it uses the default",
        ),
        Pattern(
            r"no algorithm/protocol available",
            FAIL,
            "no algorithm is left for a call: NCCL_ALGO and NCCL_PROTO, which nccl.conf sets too, leave none that the "
            "communicator can use (CollNet and NVLS need their hardware and plugins), or its size is beyond what this "
            "release reckons with",
        ),
        Pattern(
            r"\b(?:RC|N)CCL_(?!\w+_INITIALIZER)\w+|environment|User asked for|Invalid \S+ \d+ \(m|token"
            r"|entries except"
            r"|netGdrLevel|Setting \S+ to|capping|ignor(?:ed|ing)\b",
            WARN,
            "NCCL does not take a setting as it is written",
            general=2,
        ),
    ),
    links=("https://github.com/NVIDIA/nccl/issues/1008",),
)
NCCL_SETTING_HARMFUL = Card(
    id="nccl-setting-harmful",
    title="A setting keeps NCCL from using what the machine has",
    levels=(INFO, WARN, FAIL, UNKNOWN),
    about=(
        "Settings that turn a part of NCCL off help to find an error; left in a job's environment they cost bandwidth: "
        "no RDMA or fewer NICs, no P2P, no GPUDirect RDMA, one algorithm for all. What each costs depends on the "
        "machine: P2P is not missed where no GPU has it."
    ),
    remedy="unset it in the job's script and wherever that takes its environment from",
    sure="railgauge env; run the same job once without the setting",
    passes="no setting of the environment keeps NCCL from P2P, RDMA or GPUDirect RDMA, or fixes its choice",
    reads=("NCCL_* of the environment", "the paths between GPUs and NICs"),
    shows=(
        "NCCL INFO NCCL_P2P_DISABLE set by environment to 1.",
        "NCCL INFO NCCL_IB_DISABLE set by environment to 1.",
        "NCCL INFO NET/IB : No device found.",
        "NCCL INFO Using network Socket",
    ),
    shared_with=("conf-file-forgotten", "verbs-device-missing"),
    links=("https://github.com/NVIDIA/nccl/issues/1466", "https://github.com/NVIDIA/nccl-tests/issues/373"),
)
