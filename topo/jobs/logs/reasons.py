# SPDX-License-Identifier: Apache-2.0
"""What the reason that a kernel or a driver gives means to an operator, in lines of any program."""

import re

REASONS = tuple(
    (re.compile(words, re.IGNORECASE), meaning)
    for words, meaning in (
        (
            r"Cannot allocate memory|\bENOMEM\b",
            "no memory: it may not be locked or mapped (ulimit -l, the container's limit), or a table of the device "
            "is full",
        ),
        (
            r"Operation not permitted|Permission denied|insufficient permission|\bE(?:PERM|ACCES)\b",
            "the process lacks the right: its user, the container's capabilities, or the mode of a file",
        ),
        (
            r"No such file\b|not a directory|\bENOENT\b",
            "what the line names is not on this host, or not in this container",
        ),
        (r"No such device|\bENODEV\b|\bENXIO\b", "the device is gone, or is not given to this container"),
        (r"Connection refused|\bECONNREFUSED\b", "nothing listens there: that end has ended or not started"),
        (r"Connection reset|Broken pipe|End of file|\bECONNRESET\b|\bEPIPE\b", "the other end is gone"),
        (r"(?-i:unreachable)|No route to host|\bE(?:NET|HOST)UNREACH\b", "there is no path to the other end"),
        (r"Address already in use|\bEADDRINUSE\b", "another process has the port or the address"),
        (r"Cannot assign requested address|\bEADDRNOTAVAIL\b", "the address is not one of this host's"),
        (r"Too many open files|\bE[MN]FILE\b", "the limit on open files is reached (ulimit -n)"),
        (r"No space left|quota exceeded|\bENOSPC\b", "no room is left"),
        (
            r"Resource temporarily unavailable|\bEAGAIN\b",
            "a limit is reached: queues, threads or processes (ulimit -u)",
        ),
        (r"(?:Device or )?resource busy|\bEBUSY\b", "another process holds it"),
        (
            r"Function not implemented|Operation not supported|Protocol not supported|\bE(?:NOSYS|OPNOTSUPP)\b",
            "this kernel, driver or sandbox does not have it",
        ),
        (
            r"(?-i:Invalid argument)|\bEINVAL\b",
            "the kernel or driver refuses what it was given: kinds or releases that do not fit together",
        ),
        (r"Input/output error|\bEIO\b", "the device or its driver failed, or lost the other end"),
        (r"Bad address|\bEFAULT\b", "the memory is of a kind that it does not take, such as a GPU's"),
        (r"Exec format error|\bENOEXEC\b", "the program is built for another processor"),
        (
            r"timed out|timeout (?:was |has |is )?(?:exceeded|expired|reached)|\bETIMEDOUT\b",
            "what it waited for did not answer in time",
        ),
    )
)
"""Texts of errno and of UCX, libfabric and gloo, which take them over; the first that a line has counts."""
IN_THE_LINE = "the line has its reason"
"""How the meaning of general words ends."""


def reason_of(text: str) -> str:
    """What the reason in a line means; "" where it has none of these words."""
    return next((meaning for words, meaning in REASONS if words.search(text)), "")
