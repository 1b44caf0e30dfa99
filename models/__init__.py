"""TensorFlow models, and every method of repair behind one interface."""
