"""Why an attempt failed: contract and integrity first, then replay, then intervention."""
