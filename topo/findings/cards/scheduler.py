# SPDX-License-Identifier: Apache-2.0
"""Nodes that a scheduler does not give to jobs, as its daemons and `scontrol show node` report them (`log explain`)."""

from railgauge.topo.findings.card import FAIL, INFO, WARN, Card, Pattern

NODE_OUT_OF_SERVICE = Card(
    id="node-out-of-service",
    title="The scheduler does not give a node, or its GPUs, to jobs",
    levels=(INFO, WARN, FAIL),
    about=(
        "slurmd compares what it finds on a node with slurm.conf and gres.conf, and Slurm takes a node that has less, "
        "does not answer or fails its check out of service. Jobs then wait, or are refused."
    ),
    remedy=(
        "make the node and its files agree: nvidia-smi -L, slurmd -G and slurmd -C beside slurm.conf and gres.conf; "
        "then scontrol update NodeName=NODE State=RESUME"
    ),
    sure="scontrol show node NODE; slurmd -C; slurmd -G; journalctl -u slurmd",
    shows=(
        "Reason=gres/gpu count reported lower than configured (0 < 8) [slurm@2025-01-01T10:00:00]",
        "slurmd: fatal: gres.conf duplicate records for gpu",
    ),
    patterns=(
        Pattern(
            r"autodetect \w+ functionality, but|specified plugin name for gpu/\w+",
            FAIL,
            "Slurm was built without the library that finds GPUs (NVML, RSMI), which AutoDetect= in gres.conf asks "
            "for: a build that has it, or a record with File=/dev/nvidiaN for each GPU",
        ),
        Pattern(
            r"(?:can't stat|[Ww]aiting for) gres\.conf file /dev/",
            FAIL,
            "a GPU of gres.conf has no device node when slurmd starts: its driver is not loaded, or not yet "
            "(nvidia-persistenced or nvidia-modprobe must run before), or the GPU is gone",
        ),
        Pattern(
            r"gres/\w+ count (?:reported )?(?:too low|lower than configured)",
            FAIL,
            "Slurm finds fewer GPUs on a node than slurm.conf has: a GPU is gone or has no driver, or slurmd cannot "
            "tell (a build without NVML, no File= in gres.conf)",
        ),
        Pattern(
            r"gres\.conf (?:duplicate|for \w+, some)|Invalid GRES record|due to lack of File specification"
            r"|[Ii]gnoring file-less GPU|autodetected GPUs are being ignored",
            FAIL,
            "gres.conf is not usable as it stands: one record for each GPU or AutoDetect alone, all with File=, and "
            "types as slurm.conf has them",
        ),
        Pattern(
            r"Node configuration differs from hardware|(?:\bL|has l)ow (?:RealMemory|TmpDisk|CPUs|cpu count"
            r"|real_memory|socket\*core)"
            r"|to have a different slurm\.conf",
            FAIL,
            "a node has less memory, cores or disk than slurm.conf says (slurmd -C): a part failed, or the file is of "
            "another machine",
        ),
        Pattern(
            r"\bKill task failed|JOB NOT ENDING WITH SIGNALS",
            FAIL,
            "processes of an earlier job on the node could not be killed: they hang in a driver or a file system",
        ),
        Pattern(
            r"\b(?:[Pp]rolog|[Ee]pilog)(?: hook)? (?:error|failure|failed|exited with|complete failure)"
            r"|batch job complete failure|spank-(?:pro|epi)log: error",
            FAIL,
            "a script that runs before or after jobs (prolog, epilog) failed on a node",
        ),
        Pattern(
            r"\bNHC: ",
            FAIL,
            "the node's health check (NHC) failed: the line says which check",
        ),
        Pattern(
            r"[Nn]odes? \S+ not responding|Reason=Not responding|Node failure on \S|[Nn]ode unexpectedly rebooted"
            r"|ResumeTimeout reached",
            FAIL,
            "a node does not answer the scheduler, or has started again: its power, kernel, network or slurmd failed",
        ),
        Pattern(
            r"Munge encode failed|munge\.socket",
            FAIL,
            "munged does not run on the host, which signs what Slurm's programs send each other",
        ),
        Pattern(
            r"\bslurmd(?:\[\d+\])?: fatal: ",
            FAIL,
            "slurmd does not start on a node: the line has its reason",
            general=1,
        ),
        Pattern(
            r"^ *Reason=.*\[\w+@\d{4}-",
            WARN,
            "somebody, or Slurm itself, took a node out of service: the line has its reason",
            general=1,
        ),
    ),
)
