# SPDX-License-Identifier: Apache-2.0
"""Processes of a job that a launcher, a container engine or Kubernetes does not start (`log explain`)."""

from railgauge.topo.findings.card import FAIL, INFO, Card, Pattern

LAUNCH_FAILED = Card(
    id="launch-failed",
    title="The launcher cannot start the job's processes on all hosts",
    levels=(INFO, FAIL),
    about=(
        "mpirun, mpiexec, pdsh and srun start a helper of theirs on every host, by ssh or through the scheduler; the "
        "helper starts the ranks, and the ranks exchange their addresses through it (PMI, PMIx). NCCL has not run yet."
    ),
    remedy=(
        "ssh to each host without a password must find the same programs: PATH in ~/.bashrc, mpirun --prefix; keys "
        "and rights of ~/.ssh; slots=N in the host file for N GPUs; one clock (chrony) and one key of munge on all "
        "nodes; open ports between them"
    ),
    sure="ssh HOST 'which orted; date'; mpirun -np 2 -H HOST1,HOST2 hostname; srun -N 2 hostname",
    shows=(
        "bash: orted: command not found",
        "root@worker-1: Permission denied (publickey,password).",
        "There are not enough slots available in the system to satisfy the 16",
        "srun: error: Task launch for 36.0 failed on node cn131: Job credential expired",
        "MPIR_pmi_kvs_get(227).......: PMI_KVS_Get returned -1",
    ),
    patterns=(
        Pattern(
            r"environment variable (?:RANK|WORLD_SIZE|MASTER_ADDR|MASTER_PORT) expected, but not set",
            FAIL,
            "the program was started without a launcher: torchrun, or a script that gives each process RANK, "
            "WORLD_SIZE, MASTER_ADDR and MASTER_PORT, starts its ranks",
        ),
        Pattern(
            r"get local_idx/count from ATL, set CCL_|getenv_local_coord: condition",
            FAIL,
            "oneCCL does not learn which of its host's processes one is: start them by mpirun, or set "
            "CCL_ZE_IPC_EXCHANGE=sockets",
        ),
        Pattern(
            r"(?:orted|prted|hydra_\w+|pdsh|mpirun|mpiexec|srun)\S*: (?:command )?not found"
            r"|Command not found: (?!nvidia-container)\S+|execvp error on file|could not execve job|\bexecve\(\): ",
            FAIL,
            "a program that the launcher starts is not found on a host: PATH of a shell without login, or another "
            "place of installation",
        ),
        Pattern(
            r"ORTE_ERROR_LOG: Not found in file ess_env|PMIX?_\w+ (?:is )?not (?:set"
            r"|found) in (?:the )?environment",
            FAIL,
            "the launcher's helper was started without the environment of its launcher, as in a container that does "
            "not "
            "take over PMIX_*, OMPI_* and SLURM_*",
        ),
        Pattern(
            r"(?:(?:^|/)(?:ba|da|z|k)?sh|(?<!driver-check)\.sh): (?:line )?(?:\d+: )?\S+: (?:No such file or directory"
            r"|(?:command )?not found|Permission denied|cannot execute)",
            FAIL,
            "a program that a script starts is not there, or may not be run: the image, node or PATH lacks it",
            general=1,
        ),
        Pattern(
            r"Permission denied \((?:publickey|password|keyboard|gssapi|hostbased)|Host key verification failed"
            r"|not reachable via ssh|Command \W{0,2}ssh .*returned non-zero exit status 255",
            FAIL,
            "ssh to a host was refused: its key, the user's key, or the rights of ~/.ssh",
        ),
        Pattern(
            r"[Jj]ob credential expired|Munge decode failed|[Cc]redential.*(?:rewound|expired)",
            FAIL,
            "a node refused the job's credential as too old: its clock differs, or it took long to start",
        ),
        Pattern(
            r"Credential replayed|Invalid job credential|Munge decode failed|Invalid credential",
            FAIL,
            "a node refused the job's credential: it was used before (a daemon that started again, a message sent "
            "twice), or the nodes have other keys of munge",
            general=1,
        ),
        Pattern(
            r"slurm_\w+: .*failed: (?:Socket timed out|Unable to contact|Zero Bytes|Connection)"
            r"|(?:Unable to contact slurm controller|Socket timed out on send/recv operation)",
            FAIL,
            "Slurm's daemons (slurmd, slurmctld) do not answer each other in time: a node's slurmd hangs or is not "
            "reached, a prolog takes longer than MessageTimeout, or a firewall is between them",
        ),
        Pattern(
            r"Unable to (?:allocate resources|create step for job \d+): |Batch job submission failed: |lsberrno *:",
            FAIL,
            "the scheduler does not start the job or a step of it: the line has its reason (the partition, limits of "
            "the "
            "account, or GPUs, cores and memory that the job does not have)",
        ),
        Pattern(
            r"not enough slots available",
            FAIL,
            "the hosts have fewer slots than processes are wanted: slots=N in the host file, or HOST:N",
        ),
        Pattern(
            r"PMI_KVS_Get returned -?\d|PMI2?_\w+ (?:failed|returned -)|pmixp_\w+.*timeout"
            r"|PMIx_\w+.*(?:fail|rror)",
            FAIL,
            "the launcher's helpers could not exchange the addresses of ranks (PMI, PMIx): they do not reach each "
            "other, or are of another MPI than the program",
        ),
        Pattern(
            r"pmix\w*\.c:\d+ bind\(\) failed",
            FAIL,
            "the launcher's helper cannot make its socket on a host: what an earlier job left in its folder in /tmp, a "
            "path that is too long, or no right to write there",
        ),
        Pattern(
            r"unable to reliably start one or more daemons|unable to run \w*proxy|setting up the bootstrap proxies"
            r"|Task launch for \S+ failed|Application launch failed"
            r"|ssh exited with exit code [1-9]",
            FAIL,
            "the launcher's helper did not start on a host",
            follows=True,
        ),
    ),
    links=("https://github.com/kubeflow/mpi-operator/issues/501", "https://github.com/NVIDIA/nccl-tests/issues/92"),
)
CONTAINER_NOT_STARTED = Card(
    id="container-not-started",
    title="A container of the job does not start",
    levels=(INFO, FAIL),
    about=(
        "Before a container runs, hooks and NVIDIA's container runtime put GPUs, the driver's libraries and NICs into "
        "it; pyxis and enroot do so for Slurm. Where one of them fails no process of the job is started on that node."
    ),
    remedy=(
        "look at the reason in the line; on the node: nvidia-smi, one release of the NVIDIA container toolkit on all "
        "nodes, rights and space of the folder with the images; then the same image without GPUs"
    ),
    sure="nvidia-container-cli -k -d /dev/tty info; srun -w NODE --container-image=IMAGE true",
    shows=("slurmstepd: error: pyxis:     nvidia-container-cli: ldcache error: process /sbin/ldconfig failed",),
    patterns=(
        Pattern(
            r"[Cc]ommand not found: nvidia-container|nvidia-container-(?:cli|runtime)\b.*(?:command"
            r"|executable file) not found"
            r"|exec: .?nvidia-container-\w+.?: executable file not found|no runtime for \W?nvidia",
            FAIL,
            "NVIDIA's container tools (libnvidia-container, the container toolkit) are not installed on the host, or "
            "its "
            "container engine does not know them (nvidia-ctk runtime configure)",
        ),
        Pattern(
            r"(?:containerd|crio|docker)\.sock\b.*(?:refused|no such|denied)|Cannot connect to the Docker daemon",
            FAIL,
            "the container engine of a node does not answer: it is down, starts again, or denies the user",
        ),
        Pattern(
            r"nvidia-container-cli: .*driver (?:rpc )?error: (?!.*driver not loaded)",
            FAIL,
            "NVIDIA's driver does not answer the container runtime: a GPU or the driver hangs; nvidia-smi and dmesg of "
            "the node tell",
        ),
        Pattern(
            r"nvidia-container-cli: requirement error",
            FAIL,
            "the image asks for a newer driver, or another GPU, than the node has: update the driver, or take an image "
            "of an older CUDA",
        ),
        Pattern(
            r"nvidia-container-cli: .*(?:(?:nvml|cuda) error: (?!insufficient perm|driver not loaded)|libnvidia-ml"
            r"|no adapters were found)",
            FAIL,
            "a GPU or its driver does not work on the node itself, with or without a container: nvidia-smi and dmesg "
            "there tell",
        ),
        Pattern(
            r"nvidia-container-cli: ldcache error",
            FAIL,
            "ldconfig fails on an image: the image lacks it, is of another processor, or its folder cannot be written",
        ),
        Pattern(
            r"nvidia-container-cli: device error: .*unknown device",
            FAIL,
            "a container asks for a GPU by a name that the node does not have: a GPU that is gone, or what a plugin "
            "that shares GPUs writes there where none has the memory asked for (no-gpu-has-...)",
        ),
        Pattern(
            r"nvidia-container-cli: (?!.*driver not loaded).*(?:rror|fail)|unresolvable CDI devices"
            r"|(?i:error injecting CDI|nvidia-container-runtime.*(?:failed|error))",
            FAIL,
            "NVIDIA's container runtime does not put the GPUs into a container: the line has its reason",
            general=1,
        ),
        Pattern(
            r"^(?!.*(?:\bhook\b|nvidia-container)).*(?:container init caused|error during container init"
            r"|rootfs_linux\.go|starting container process caused|error mounting \S)",
            FAIL,
            "the container engine cannot set up a container: the line has its reason",
            general=1,
        ),
        Pattern(
            r"enroot/hooks\.d/\S+ exited with|OCI runtime create failed|failed to create (?:shim|containerd) task"
            r"|pyxis: (?:\w+ )*failed to (?:import|create|start)",
            FAIL,
            "a container does not start: a hook, its image or the engine fails",
            general=1,
            follows=True,
        ),
        Pattern(
            r"pyxis: (?:container start failed|couldn't start container)|Failed to invoke spank plugin stack"
            r"|spank: required plugin \S+: \w+\(\) failed",
            FAIL,
            "a container does not start",
            general=1,
            follows=True,
        ),
    ),
    links=("https://github.com/NVIDIA/enroot/issues/232", "https://github.com/NVIDIA/pyxis/issues/101"),
)
POD_NOT_STARTED = Card(
    id="pod-not-started",
    title="Kubernetes does not place or start a pod of the job",
    levels=(INFO, FAIL),
    about=(
        "Events of a pod tell why it waits. GPUs and RDMA devices are resources that a device plugin of each node "
        "offers; a pod with more of them than any node has free stays Pending, and the job's other ranks wait for it."
    ),
    remedy=(
        "compare what the pod asks for with kubectl describe nodes (Allocatable, Allocated resources, Taints); where a "
        "node offers no nvidia.com/gpu, see to its driver, container runtime and device plugin"
    ),
    sure="kubectl describe pod POD; kubectl logs POD --previous; kubectl -n gpu-operator get pods",
    shows=(
        "0/8 nodes are available: 8 Insufficient nvidia.com/gpu.",
        "Warning  FailedMount  2m  kubelet  MountVolume.SetUp failed for volume",
    ),
    patterns=(
        Pattern(
            r"nodes? are available:.*Insufficient (?:\S+/\S*(?:gpu|mig|rdma|hca|efa|roce|sriov|hostdev)\S*)"
            r"|Cannot schedule pods: (?:Insufficient nvidia|com/gpu)"
            r"|OutOf\S+/gpu|UnexpectedAdmissionError|[Rr]equested number of devices unavailable|no healthy devices",
            FAIL,
            "no node has as many GPUs or RDMA devices free as the pod asks for: others use them, or the node's device "
            "plugin does not offer them (driver, container runtime, unhealthy device)",
        ),
        Pattern(
            r"nodes? are available:|FailedScheduling(?!.*can't be assumed)|PodUnschedulable|[Uu]nable to schedule pod",
            FAIL,
            "no node fits the pod: too little memory or cores, a taint, a selector, or a volume of another zone",
            general=1,
        ),
        Pattern(
            r"device plugin \w+ rpc failed|Allocate failed due to|device plugin .*(?:rpc error|connection refused)",
            FAIL,
            "a node's device plugin fails where the pod's container is to start: the line has its reason (a socket of "
            "kubelet's that is not mounted into the plugin, or a plugin that has ended)",
        ),
        Pattern(
            r"(?i:fail(?:ed|ure)? to (?:config(?:ure)?|enable|set|create|allocate) .{0,40}?\b(?:sr-?iov|vfs?)\b)",
            FAIL,
            "virtual functions (SR-IOV) of a NIC cannot be set up on a node: the interface's name, the rights of what "
            "sets them up, or SR-IOV in the BIOS and the NIC's firmware",
        ),
        Pattern(
            r"ErrImagePull|ImagePullBackOff|[Ff]ailed to pull image|pull access denied",
            FAIL,
            "a node cannot pull the pod's image: its name, the registry's login, or the network to the registry",
        ),
        Pattern(
            r"FailedMount|FailedAttachVolume|MountVolume\.\w+ failed|[Uu]nable to attach or mount volumes",
            FAIL,
            "a volume of the pod is not there, or cannot be mounted on its node",
        ),
        Pattern(
            r"FailedCreatePodSandBox|[Ff]ailed to create pod sandbox",
            FAIL,
            "the pod's network cannot be made on its node (CNI, Multus, SR-IOV)",
        ),
        Pattern(
            r"CrashLoopBackOff|[Bb]ack-off restarting failed",
            FAIL,
            "a container ends each time that it is started: kubectl logs --previous has its last words",
            general=1,
            follows=True,
        ),
    ),
    links=("https://github.com/NVIDIA/k8s-device-plugin/issues/33",),
)
