"""Speed, measured against something else in the same run, never as an absolute time.

Each module here is one workload. It names its contestants and a floor: the ratio below which the
run fails. `python -m benchmarks` runs them all.
"""
