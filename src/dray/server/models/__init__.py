"""How objects of a kind behave, whatever they are made of.

May live here: the face the verbs use (`model`), kinds with types of their own (`typed`), what is
particular to each kind as data (`traits`), and events, which have two faces. Custom resources bring
their own model (dray.server.custom). May not: HTTP, the store.
"""
