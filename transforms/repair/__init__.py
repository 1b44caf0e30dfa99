"""The repair job: its plan, its work on one shard, retry and revert, and its report."""
