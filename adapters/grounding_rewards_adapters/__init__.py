"""How a trainer calls grounding_rewards. Each file serves one trainer and imports it nowhere at module level."""
