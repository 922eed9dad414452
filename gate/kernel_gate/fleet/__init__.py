"""Many verdicts on many devices: one worker process per GPU."""
