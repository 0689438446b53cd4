"""Published rewards as compositions, one paper a file. `grounding_rewards.recipe(name)` builds one."""
