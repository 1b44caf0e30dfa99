"""Where a job runs. Nothing here knows what a job does."""
