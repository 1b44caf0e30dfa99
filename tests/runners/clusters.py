"""Engines that need no more than Python packages and one program, started like those of `runners.flink`."""

from __future__ import annotations

import importlib.util
import os
import sys

from runners.fetch import PARTS
from runners.local_cluster import LOOPBACK, Cluster, MissingPart, free_port


class PortableCluster(Cluster):
    """Beam's own job service, with workers from a pool."""

    def start(self) -> None:
        self._job_port, self._pool_port = free_port(), free_port()
        module = "apache_beam.runners.portability.local_job_service_main"
        self.launch("job-service", [sys.executable, "-m", module, "--port", str(self._job_port)], self._job_port)
        self.launch_pool("worker-pool", LOOPBACK, self._pool_port)

    @property
    def options(self) -> list[str]:
        endpoints = [f"--job_endpoint=localhost:{self._job_port}", f"--environment_config=localhost:{self._pool_port}"]
        return ["--preset=portable", "--environment_type=EXTERNAL", "--remote_workers=2", *endpoints]


class PrismCluster(Cluster):
    """Started by the job itself, with workers inside of its process."""

    def start(self) -> None:
        self._program = PARTS["prism"]()

    @property
    def options(self) -> list[str]:
        return ["--preset=prism", f"--prism_location={self._program}", "--remote_workers=2"]


class DaskCluster(Cluster):
    """A scheduler and two worker processes."""

    def start(self) -> None:
        if importlib.util.find_spec("distributed") is None:
            raise MissingPart("dask.distributed is not installed")
        self._port, ports = free_port(), [free_port(), free_port()]
        listening = ["--host", LOOPBACK, "--no-dashboard"]
        modules = {"PYTHONPATH": os.pathsep.join(one or os.getcwd() for one in sys.path)}
        scheduler = f"tcp://{LOOPBACK}:{self._port}"
        command = [sys.executable, "-m", "distributed.cli.dask_scheduler", *listening, "--port", str(self._port)]
        self.launch("scheduler", command, self._port, **modules)
        for number, port in enumerate(ports, 1):
            command = [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, *listening, "--nthreads", "1"]
            self.launch(f"worker-{number}", [*command, "--worker-port", str(port)], port, **modules)

    @property
    def options(self) -> list[str]:
        return ["--preset=dask", f"--dask_client_address=tcp://{LOOPBACK}:{self._port}", "--remote_workers=2"]
