"""Pictures of responses, targets and rewards."""
