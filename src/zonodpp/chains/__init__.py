"""Many chains at once: their slices of work, progress, and a run as a file."""
