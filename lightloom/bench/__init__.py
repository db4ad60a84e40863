"""Benchmarks: suites of runs, each in a process of its own, results in one file.

A `suite` names problems, instances, and who is to solve them within which limits. A
`sweep` has workers run what is not in the results file yet, and appends a row for
each run, whatever happened to it. What the rows show is computed by `summary`,
`profiles`, `traces`, `scaling` and `compare`; drawing is for others.
"""
