"""The version, in a module that imports nothing."""

VERSION = "0.2.0"
