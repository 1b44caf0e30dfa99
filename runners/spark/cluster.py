"""A Spark cluster on loopback: a master, a worker with a pool of Python processes, and Beam's job server."""

from __future__ import annotations

from pathlib import Path

from runners.local_cluster import JAVA_OPENED, LOOPBACK, Cluster, fetch_jars, free_port, program

POM = Path(__file__).with_name("pom.xml")
CORES = 2


class SparkCluster(Cluster):
    def start(self) -> None:
        jars = fetch_jars(POM)
        # A worker starts its executors with the jars of SPARK_HOME, so these need none from the driver.
        home = self.folder / "spark"
        home.mkdir(exist_ok=True)
        (home / "jars").symlink_to(jars)
        environment = {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.12", "SPARK_LOCAL_IP": LOOPBACK}
        java = [program("java"), *JAVA_OPENED, "-Xmx1g", "-cp", f"{jars}/*"]
        deploy = "org.apache.spark.deploy"
        master, self._pool_port, self._job_port = free_port(), free_port(), free_port()

        listening = ["--host", LOOPBACK, "--port", str(master), "--webui-port", str(free_port())]
        self.launch("master", [*java, f"{deploy}.master.Master", *listening], master, **environment)
        self.launch_pool("worker-pool", LOOPBACK, self._pool_port)
        worker = free_port()
        listening = ["--host", LOOPBACK, "--port", str(worker), "--webui-port", str(free_port())]
        size = ["--cores", str(CORES), "--memory", "1g", "--work-dir", str(self.folder / "work")]
        url = f"spark://{LOOPBACK}:{master}"
        self.launch("worker", [*java, f"{deploy}.worker.Worker", *listening, *size, url], worker, **environment)
        driver = "org.apache.beam.runners.spark.SparkJobServerDriver"
        ports = [f"--job-port={self._job_port}", "--artifact-port=0", "--expansion-port=0"]
        artifacts = f"--artifacts-dir={self.folder / 'artifacts'}"
        command = [*java, driver, "--job-host=localhost", *ports, f"--spark-master-url={url}", artifacts]
        self.launch("job-server", command, self._job_port, **environment)

    @property
    def options(self) -> list[str]:
        return [
            "--preset=spark",
            f"--job_endpoint=localhost:{self._job_port}",
            f"--environment_config=localhost:{self._pool_port}",
            f"--remote_workers={CORES}",
        ]
