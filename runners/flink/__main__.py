import sys

from runners.flink.cluster import FlinkCluster
from runners.local_cluster import run_until_stopped

sys.exit(run_until_stopped(FlinkCluster()))
