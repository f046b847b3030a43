"""What operators need of a server: metrics, a log of requests, audit, fairness and deadlines.

Modules here watch requests or hold them back; none of them answers one. Each works alone, so that
its tests need no server; `operations` puts them together for the application.
"""
