# SPDX-License-Identifier: Apache-2.0
# Toolchain file of Debian's cross compiler for aarch64; what it makes runs under QEMU's user emulation
# (scripts/prerequisites aarch64 installs both).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
