"""One page for looking at rollouts, pools and rewards: it opens without a network, and its script draws plain data."""
