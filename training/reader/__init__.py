"""The reader's training: passages around uncertain gaps, batches, the network's trainer."""
