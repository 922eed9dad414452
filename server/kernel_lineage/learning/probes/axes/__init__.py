"""One file an axis of probes; see `axis.py` above."""
