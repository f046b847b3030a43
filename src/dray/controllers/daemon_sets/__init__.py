"""Runs one pod of each daemon set on every node that fits.

May live here: which nodes fit, what is to be done on each, how old pods give way to new ones, and
the controller that does it. Which pods are new is told by a hash of the template in a label:
ControllerRevisions, by which upstream can also go back, are not among dray's kinds. Upstream
counterpart: pkg/controller/daemon.
"""

from __future__ import annotations
