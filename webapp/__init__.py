"""The web application: error analysis, a page to try it, corpus review, and a JSON API."""
