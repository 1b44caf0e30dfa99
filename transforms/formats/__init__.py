"""Files of documents: a new format is one file here."""
