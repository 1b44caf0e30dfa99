"""What training reads: clean text, noise, batches, benchmarks."""
