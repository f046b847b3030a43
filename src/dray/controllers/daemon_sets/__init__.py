"""Runs one pod of each daemon set on every node that fits.

May live here: which nodes fit, what is to be done on each, how old pods give way to new ones, which
templates there were, and the controller that does it. Every template is kept in a revision, and a
pod says by a label of which revision it is. Upstream counterpart: pkg/controller/daemon.
"""

from __future__ import annotations
