"""railgauge's native engine"""

from railgauge._native import (
    collectives as collectives,
    transports as transports
)
