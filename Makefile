# SPDX-License-Identifier: Apache-2.0
# Names for the scripts in scripts/; VENV=path uses another virtual environment than .venv.
VENV ?= .venv
export VENV
.PHONY: help demo test test-vm test-nccl test-torch test-torch-gpu lint check bench sanitize soak

help:
	@echo 'make demo      install, scan this machine, find its channels, run an all-reduce over them'
	@echo 'make test      install what the tests need and run them (ARGS="-k ring" goes to pytest)'
	@echo 'make test-vm   boot emulated machines and compare the scan with their configuration (docs/internals/testing.md)'
	@echo 'make test-nccl every release of NCCL since 2.19 as the judge of settings and logs, without a GPU (12 GB)'
	@echo 'make test-torch  all tests of back ends that PyTorch ships, on railgauge and on Gloo (an hour)'
	@echo 'make test-torch-gpu  the same beside NCCL on two GPUs, with examples and benchmarks (8 minutes)'
	@echo 'make lint      ruff, mypy, clang-format'
	@echo 'make check     lint, then test'
	@echo 'make bench     railgauge beside Open MPI, MPICH and Gloo (ARGS="--factor 2"); start time'
	@echo 'make sanitize  the native tests under the address and thread sanitizers'
	@echo 'make soak      20,000 random collectives, each verified, with no growth of memory (ARGS="--seed 7")'

demo:
	@scripts/demo

test:
	@scripts/test $(ARGS)

test-vm:
	@scripts/test-vm $(ARGS)

test-nccl:
	@scripts/test-nccl $(ARGS)

test-torch:
	@scripts/test-torch $(ARGS)

test-torch-gpu:
	@scripts/test-torch-gpu $(ARGS)

lint:
	@scripts/lint

check:
	@scripts/check

bench:
	@scripts/bench $(ARGS)

sanitize:
	@scripts/native-test address thread

soak:
	@scripts/soak $(ARGS)
