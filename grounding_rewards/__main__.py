"""``python -m grounding_rewards`` is ``grounding-rewards``."""

from grounding_rewards.cli import main

if __name__ == "__main__":
    main()
