"""Every file is listed, opened and published here, by every package: local paths and object stores alike."""
