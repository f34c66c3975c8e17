"""sample(): many chains at once, their slices of work, progress and checkpoints."""
