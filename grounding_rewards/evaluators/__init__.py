"""Steps of whole-action benchmarks, judged as each author's evaluator judges them."""
