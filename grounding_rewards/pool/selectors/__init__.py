"""Selectors map statistics of samples to weights between declared bounds; a weight of 0 leaves a sample out."""
