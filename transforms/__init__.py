"""Beam transforms: they wire; the plain functions beside them think."""
