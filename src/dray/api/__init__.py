"""The API as Python values: kinds as frozen types, quantities, the scheme, versions.

May live here: types of the wire, their codec, defaults, conversion, and what is true of a value
by itself (quantities, names, selectors). May not: rules over whole objects (dray.validation),
I/O, clocks, randomness. Import kinds from their group (`dray.api.resource`, `dray.api.core`, …).
"""
