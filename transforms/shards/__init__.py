"""How any job works on shards: each on its own, resumable, with manifests and dead letters."""
