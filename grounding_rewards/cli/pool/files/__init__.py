"""What the commands of ``pool`` read and write."""
