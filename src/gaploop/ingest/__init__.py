"""Logs in, episodes out: readers, contracts, screening. Nothing enters the loop unexamined."""
