# SPDX-License-Identifier: Apache-2.0
# Toolchain file of Debian's cross compiler for aarch64 (scripts/prerequisites aarch64).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
