"""LaTeX sources and PDFs: documents, shards of them, and their paragraphs matched."""
