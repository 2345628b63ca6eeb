# SPDX-License-Identifier: Apache-2.0
"""The statuses of completions of RDMA operations, as logs of NCCL, UCX, perftest and others write them.

Source: enum ibv_wc_status of rdma-core and the names that ibv_wc_status_str gives; UCX has words of its own.
"""

NAMES = {
    1: ("LOC_LEN_ERR", "local length"),
    2: ("LOC_QP_OP_ERR", "local QP operation"),
    4: ("LOC_PROT_ERR", "local protection"),
    5: ("WR_FLUSH_ERR", "work request flushed|WR flushed"),
    8: ("LOC_ACCESS_ERR", "local access"),
    9: ("REM_INV_REQ_ERR", "remote invalid request"),
    10: ("REM_ACCESS_ERR", "remote access"),
    11: ("REM_OP_ERR", "remote operation"),
    12: ("RETRY_EXC_ERR", r"transport retry count(?:er)? exceeded"),
    13: ("RNR_RETRY_EXC_ERR", r"(?:RNR retry counter|receive-no-ready retry count) exceeded"),
}
"""By number: the name, and a pattern of the words."""


def ended_with(status: int) -> str:
    """A pattern of lines that say that an operation ended with a status: by its number, its name or its words.

    NCCL: `error 12`, `status=12`, `status=IBV_WC_RETRY_EXC_ERR(12)`; MSCCL++: `work item failed: status
    12`; UCCL: `CQE error, wr_id=3, status=12`; perftest:
    `Failed status 12`; UCX: `Local protection on mlx5_0:1/IB`; Mooncake: `Process failed for slice (local_nic: mlx5_9,
    ...): local protection error`.
    """
    name, words = NAMES[status]
    return (
        rf"(?:Got completion|CQE error).*(?:error |status=)(?:IBV_WC_{name}\()?{status}\b|\bFailed status {status}\b"
        rf"|\b(?:work (?:item|request|completion)|wc)\b.{{0,40}}\bstatus[ :=]+{status}\b"
        rf"|(?<!RNR_)\b(?:IBV_WC_)?{name}\b"
        rf"|(?i:completion with error.*(?:{words})|\b(?:{words})(?: error)?(?: on|:) *\w+:\d+/(?:IB|RoCE)"
        rf"|(?:failed for slice|retry_cnt: \d+\)).*(?:{words}))"
    )
