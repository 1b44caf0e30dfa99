"""How the paper's networks are trained and described."""
