"""The paper's models: UNI, BID and their beam search."""
