"""Words of ``pool score``."""

SCORE = ("pool", "score")
GELATO = ("--recipe", "gelato")
