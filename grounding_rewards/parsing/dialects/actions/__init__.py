"""Dialects of whole actions: forms that many models share, and those of published rewards by name."""
