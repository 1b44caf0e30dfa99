"""What all jobs share: options, stages, summary."""
