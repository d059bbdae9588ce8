"""One script a claim: `make bench NAME=...` or `python -m benchmarks NAME`.

A script declares `cells(quick) -> list[Cell]`, `run(cell) -> dict` and
`table(results) -> str`; `benchmarks.harness` runs what is missing and prints it.
"""
