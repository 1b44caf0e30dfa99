"""From dumps of Wikipedia to clean sentences."""
