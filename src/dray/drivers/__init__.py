"""Drivers that come with dray, one folder each, written with `dray.sdk` alone.

May live here: what knows a kind of device, and what several drivers have in common. May not:
imports of dray other than `dray.sdk`: what a bundled driver lacks there, an outside author lacks
too.
"""
