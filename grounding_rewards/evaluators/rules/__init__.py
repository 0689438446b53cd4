"""The rules of published evaluators, a file for each family of them."""
