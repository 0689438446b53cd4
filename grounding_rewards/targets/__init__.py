"""Targets: their JSON form, read and written; targets as columns; regions, alternatives, requirements."""
