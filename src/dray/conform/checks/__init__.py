"""The checks, one area per module, and the order in which areas are asked.

May live here: what a driver has to do, as sentences with proofs. May not: how a driver is reached.
"""
