"""The reader: a Transformer that reads the passages around gaps of which FAST is uncertain."""
