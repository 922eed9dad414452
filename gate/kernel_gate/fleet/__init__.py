"""Many verdicts on many devices: one worker process per GPU, on this machine or on a Dask cluster."""
