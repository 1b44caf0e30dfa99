"""FAST: one pass over a text, one logit per gap."""
