"""A Flink cluster on loopback: a job manager, task managers with a worker pool each, and Beam's job server.

Two task managers of one job give their workers the same names. On a real cluster each has a machine of its own, and the
pool at its ``localhost``. Here each gets a loopback address of its own, and is told that this is ``localhost``.
"""

from __future__ import annotations

from pathlib import Path

from runners.local_cluster import JAVA_OPENED, LOOPBACK, Cluster, fetch_jars, free_port, program

POM = Path(__file__).with_name("pom.xml")
TASK_MANAGERS = 2

# Flink's scripts work these out; its classes want to be told.
_MEMORY = {
    "taskmanager.cpu.cores": "1.0",
    "taskmanager.memory.framework.heap.size": "128m",
    "taskmanager.memory.framework.off-heap.size": "128m",
    "taskmanager.memory.task.heap.size": "256m",
    "taskmanager.memory.task.off-heap.size": "64m",
    "taskmanager.memory.managed.size": "64m",
    "taskmanager.memory.network.min": "64m",
    "taskmanager.memory.network.max": "64m",
    "taskmanager.memory.jvm-metaspace.size": "256m",
    "taskmanager.memory.jvm-overhead.min": "192m",
    "taskmanager.memory.jvm-overhead.max": "192m",
}


class FlinkCluster(Cluster):
    def start(self) -> None:
        jars = fetch_jars(POM)
        self._java = [program("java"), *JAVA_OPENED, "-cp", f"{jars}/*"]
        self._pool_port, self._job_port = free_port(), free_port()
        self._rest_port = rest = free_port()
        rpc = free_port()
        self._write_configuration(rest, rpc)
        self._launch_flink("job-manager", "entrypoint.StandaloneSessionClusterEntrypoint", rest, {})
        for number in range(1, TASK_MANAGERS + 1):
            self._launch_task_manager(number)
        driver = "org.apache.beam.runners.flink.FlinkJobServerDriver"
        ports = [f"--job-port={self._job_port}", "--artifact-port=0", "--expansion-port=0"]
        artifacts = f"--artifacts-dir={self.folder / 'artifacts'}"
        command = [*self._java, driver, "--job-host=localhost", *ports, f"--flink-master={LOOPBACK}:{rest}", artifacts]
        self.launch("job-server", command, self._job_port)

    @property
    def options(self) -> list[str]:
        return [
            "--preset=flink",
            f"--job_endpoint=localhost:{self._job_port}",
            f"--environment_config=localhost:{self._pool_port}",
            f"--flink_master={LOOPBACK}:{self._rest_port}",
            f"--parallelism={TASK_MANAGERS}",
        ]

    def _write_configuration(self, rest: int, rpc: int) -> None:
        settings = {
            "jobmanager.rpc.address": LOOPBACK,
            "jobmanager.bind-host": LOOPBACK,
            "jobmanager.rpc.port": rpc,
            "rest.address": LOOPBACK,
            "rest.bind-address": LOOPBACK,
            "rest.port": rest,
            "taskmanager.bind-host": LOOPBACK,
            "taskmanager.host": LOOPBACK,
            "taskmanager.numberOfTaskSlots": 1,
            # Without a strategy the first worker that dies ends the job.
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": 5,
            "restart-strategy.fixed-delay.delay": "1 s",
            **_MEMORY,
        }
        text = "".join(f"{name}: {value}\n" for name, value in settings.items())
        (self.folder / "flink-conf.yaml").write_text(text)

    def _launch_task_manager(self, number: int) -> None:
        own = f"127.0.0.{number}"
        hosts = self.folder / f"hosts-{number}"
        hosts.write_text(f"{own} localhost\n")
        self.launch_pool(f"worker-pool-{number}", own, self._pool_port)
        port = free_port()
        settings = {"taskmanager.rpc.port": str(port), "taskmanager.resource-id": f"task-manager-{number}"}
        self._launch_flink(f"task-manager-{number}", "taskexecutor.TaskManagerRunner", port, settings, hosts)

    def _launch_flink(
        self, name: str, entry: str, port: int, settings: dict[str, str], hosts: Path | None = None
    ) -> None:
        java, *rest = self._java
        named = [f"-Djdk.net.hosts.file={hosts}"] if hosts is not None else []
        given = [f"-D{key}={value}" for key, value in settings.items()]
        command = [
            java,
            *named,
            "-Xmx512m",
            *rest,
            f"org.apache.flink.runtime.{entry}",
            "--configDir",
            str(self.folder),
        ]
        self.launch(name, [*command, *given], port)
