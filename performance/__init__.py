"""Measurements, each a command: nothing here is a test, and nothing else imports it."""
