import sys

from runners.local_cluster import run_until_stopped
from runners.spark.cluster import SparkCluster

sys.exit(run_until_stopped(SparkCluster()))
