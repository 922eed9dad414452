"""Candidates as strangers would write them: each wrong one beside an honest twin, by what is wrong."""
