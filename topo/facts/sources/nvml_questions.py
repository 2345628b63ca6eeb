# SPDX-License-Identifier: Apache-2.0
"""Calls of NVML, one at a time: each is named before it is made, and an answer that fails is null with its reason."""

import ctypes
from collections.abc import Callable
from typing import Any

from railgauge.topo.facts.sources.child import doing


class NvmlQuestions:
    """Asks NVML by the names of its calls, and keeps the reason of each that fails."""

    def __init__(self, pynvml: Any, what: str = "") -> None:
        self._pynvml = pynvml
        self._what = what
        self.reasons: dict[str, str] = {}

    def ask(self, reading: str, call: str, *arguments: Any) -> Any:
        """A call's answer, None if it fails."""
        return self.attempt(reading, call, lambda: getattr(self._pynvml, call)(*arguments))

    def attempt(self, reading: str, call: str, function: Callable[[], Any]) -> Any:
        """What a function answers, None if it fails; `call` names it where it hangs."""
        doing(f"{call}{self._what}")
        try:
            return function()
        except self._pynvml.NVMLError as error:
            self.reasons.setdefault(reading, str(error) or call)
        except AttributeError:
            self.reasons.setdefault(reading, f"this pynvml has no {call}")
        except (ctypes.ArgumentError, TypeError, ValueError) as error:
            self.reasons.setdefault(reading, f"{call}: {error}"[:200])
        return None
