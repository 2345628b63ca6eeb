# SPDX-License-Identifier: Apache-2.0
"""What a library of NCCL makes of our tuner plugin: `tuned.py LIBNCCL LIBCUDA PLUGIN BYTES API=OFFSET ...`.

NCCL loads a tuner only after it found a GPU; so the functions that take each version of the plugin are called where
they lie in its library. Prints a line of JSON for each: the costs and channels after a question about an all-reduce.
"""

import ctypes
import json
import os
import sys
from ctypes import CFUNCTYPE, POINTER, byref, c_float, c_int, c_size_t, c_uint64
from ctypes import c_void_p as pointer

ALL_REDUCE, ALGORITHMS, PROTOCOLS = 4, 7, 3
COSTS = [float(100 + place) for place in range(ALGORITHMS * PROTOCOLS)]
Init = CFUNCTYPE(c_int, POINTER(pointer), c_uint64, c_size_t, c_size_t, pointer, pointer, pointer)
Choose = CFUNCTYPE(c_int, pointer, c_int, c_size_t, c_int, pointer, c_int, c_int, c_int, POINTER(c_int))


def main(library: str, driver: str, plugin: str, size: str, *places: str) -> None:
    """Each version in a process of its own, since the plugin reads its tables once."""
    nccl = ctypes.CDLL(library)
    ctypes.CDLL(driver)
    handle = ctypes.CDLL(plugin)._handle
    version = ctypes.cast(nccl.ncclGetVersion, pointer).value
    places = dict(one.split("=") for one in places)
    for api in [name for name in places if name != "base"]:
        if os.fork():
            os.wait()
        else:
            address = version - int(places["base"]) + int(places[api])
            print(json.dumps([int(api), *_asked(CFUNCTYPE(pointer, pointer)(address)(handle), int(size))]), flush=True)
            os._exit(0)


def _asked(tuner: int, size: int) -> tuple[int, int, list[float], int]:
    """Results of init and of the question, costs, channels."""
    functions = (pointer * 4).from_address(tuner)
    context, channels = pointer(), c_int()
    costs = (c_float * len(COSTS))(*COSTS)
    begun = Init(functions[1])(byref(context), 1, 2, 1, None, None, None)
    functions = (pointer * 4).from_address(tuner)  # NCCL's adapters set the others there
    choose = Choose(functions[2])
    done = choose(context, ALL_REDUCE, size, 1, costs, ALGORITHMS, PROTOCOLS, 0, byref(channels))
    return begun, done, list(costs), channels.value


if __name__ == "__main__":
    main(*sys.argv[1:])
