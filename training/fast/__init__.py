"""What is counted for FAST before it is trained."""
