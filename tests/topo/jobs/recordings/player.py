# SPDX-License-Identifier: Apache-2.0
"""Plays NCCL of a release to the plugin, with layouts of its own: `player.py API RANK RANKS OPERATIONS [hang]`.

It loads the plugin as NCCL does, by the name in NCCL_PROFILER_PLUGIN, from where the loader finds it.
"""

import ctypes
import os
import signal
import sys
from ctypes import POINTER, Structure, Union, byref, c_bool, c_char_p, c_int, c_size_t, c_uint8, c_uint32, c_uint64
from ctypes import c_void_p as pointer

COLLECTIVE, MESSAGE, PROXY, STEP, KERNEL, CALL = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 6, 1 << 9
SEND_WAIT, KERNEL_STOP = 9, 22


def structure(name, *fields):
    return type(name, (Structure,), {"_fields_": list(fields)})


Buffers = ("send", pointer), ("receive", pointer), ("count", c_size_t), ("root", c_int)
Named = ("name", c_char_p), ("comm", c_uint64)
Choice = ("channels", c_uint8), ("warps", c_uint8), ("algorithm", c_char_p), ("protocol", c_char_p)
COLLECTIVES = {
    1: structure(
        "C1", *Named, ("seq", c_uint64), ("func", c_uint8), *Buffers, ("dtype", c_uint8), ("op", c_uint32),
        ("traffic", c_size_t), *((name, c_uint8) for name in ("channels", "warps", "algorithm", "protocol")),
        ("collnet", c_int), ("nvls", c_int),
    ),
    2: structure("C2", *Named, ("seq", c_uint64), ("func", c_char_p), *Buffers, ("dtype", c_char_p),
                 ("traffic", c_size_t), *Choice),
    3: structure("C3", *Named, ("seq", c_uint64), ("func", c_char_p), *Buffers, ("dtype", c_char_p), *Choice),
    4: structure("C4", ("seq", c_uint64), ("func", c_char_p), *Buffers, ("dtype", c_char_p), *Choice),
    5: structure("C5", ("seq", c_uint64), ("func", c_char_p), *Buffers, ("dtype", c_char_p), *Choice,
                 ("group", pointer)),
}  # fmt: skip
COLLECTIVES[6] = COLLECTIVES[5]
CollectiveCall = structure("CollectiveCall", ("func", c_char_p), ("count", c_size_t), ("dtype", c_char_p),
                           ("root", c_int), ("stream", pointer), ("captured", c_bool))  # fmt: skip
Kernel = structure("Kernel", ("channel", c_uint8), ("timer", c_uint64))
Proxy = structure("Proxy", ("pid", c_int), ("channel", c_uint8), ("peer", c_int), ("steps", c_int), ("chunk", c_int),
                  ("sends", c_int))  # fmt: skip
Step = structure("Step", ("step", c_int))


def event_of(api):
    """The event of a version, and its union."""
    either = type("Either", (Union,), {"_fields_": [("collective", COLLECTIVES[api]), ("call", CollectiveCall),
                                                    ("kernel", Kernel), ("proxy", Proxy), ("step", Step),
                                                    ("room", c_uint8 * 96)]})  # fmt: skip
    return structure(
        "Event", ("type", c_uint64 if api > 4 else c_uint8), ("parent", pointer), ("rank", c_int), ("of", either)
    )


class Plugin:
    """The functions of a version."""

    def __init__(self, api):
        library = ctypes.CDLL(os.environ["NCCL_PROFILER_PLUGIN"], mode=os.RTLD_LOCAL | os.RTLD_NOW)
        table = (pointer * 6).in_dll(library, f"ncclProfiler_v{api}")
        assert ctypes.cast(table[0], c_char_p).value == b"railgauge"
        self.api, self.event = api, event_of(api)
        context, mask, self.mask = pointer(), POINTER(c_int), c_int()
        common = [c_int, c_int, c_int, pointer]
        inits = {4: [mask, c_char_p, c_uint64, *common], 5: [c_uint64, mask, c_char_p, *common]}
        self.init = ctypes.CFUNCTYPE(c_int, POINTER(pointer), *inits.get(min(api, 5), [mask]))(table[1])
        self.start = ctypes.CFUNCTYPE(c_int, pointer, POINTER(pointer), pointer)(table[2])
        self.stop = ctypes.CFUNCTYPE(c_int, pointer)(table[3])
        self.state = ctypes.CFUNCTYPE(c_int, pointer, c_int, pointer)(table[4])
        self.finalize = ctypes.CFUNCTYPE(c_int, pointer)(table[5])
        self.context = context

    def begin(self, kind, parent=None, rank=0, **members):
        """Start an event; its handle."""
        event, handle = self.event(type=kind, parent=parent, rank=rank), pointer()
        for name, values in members.items():
            for field, value in values.items():
                setattr(getattr(event.of, name), field, value)
        assert self.start(self.context, byref(handle), byref(event)) == 0
        return handle


def main(api, rank, ranks, operations, how=""):
    plugin = Plugin(api)
    known = {4: (b"tp", 0xABC, 1, ranks, rank, None), 5: (0xABC, byref(plugin.mask), b"tp", 1, ranks, rank, None)}
    arguments = known[5] if api > 4 else (byref(plugin.mask), *(known[4] if api == 4 else ()))
    status = plugin.init(byref(plugin.context), *arguments)
    print("init", status, flush=True)
    if status:
        return
    for number in range(operations):
        play(plugin, rank, number)
    if how == "hang":
        play(plugin, rank, operations, ends=False)
        print("hangs", flush=True)
        signal.pause()
    plugin.finalize(plugin.context)


def play(plugin, rank, number, *, ends=True):
    names = {"func": b"AllReduce", "dtype": b"ncclFloat32", "algorithm": b"RING", "protocol": b"LL128"}
    if plugin.api == 1:
        names = {"func": 4, "dtype": 7, "algorithm": 1, "protocol": 1}
    asked = plugin.mask.value
    call = None
    if asked & CALL and plugin.api > 4:
        call = plugin.begin(CALL, call={"func": b"AllReduce", "count": 1024 + number, "dtype": b"ncclFloat32"})
    collective = None
    if asked & COLLECTIVE:
        of = {"seq": number, "count": 1024 + number, "channels": 2, **names}
        if plugin.api < 4:
            of |= {"name": b"tp", "comm": 0xABC}
        collective = plugin.begin(COLLECTIVE, call, rank, collective=of)
        plugin.stop(collective)
    if call:
        plugin.stop(call)
    if asked & KERNEL and plugin.api > 2:
        for channel in range(2):
            kernel = plugin.begin(KERNEL, collective, kernel={"channel": channel, "timer": 10**9 + number * 10**6})
            if ends:
                stopped = c_uint64(10**9 + number * 10**6 + 5000)
                if plugin.api > 3:
                    plugin.state(kernel, KERNEL_STOP, byref(stopped))
                plugin.stop(kernel)
    if asked & PROXY:
        of = {"pid": os.getpid(), "channel": 1, "peer": 0, "steps": 1, "chunk": 4096, "sends": 1}
        proxy = plugin.begin(PROXY, collective, rank, proxy=of)
        step = plugin.begin(STEP, proxy, rank, step={"step": 0})
        plugin.state(step, SEND_WAIT, byref(c_uint64(4096)))
        plugin.stop(step)
        plugin.stop(proxy)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]), *sys.argv[5:])
