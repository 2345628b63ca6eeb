"""railgauge's native engine"""

from railgauge._native import (
    collectives as collectives,
    topo as topo,
    transports as transports
)
