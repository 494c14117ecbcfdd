"""Readers of models, one file per framework: each returns a
`tutelage.bridge.description.Description`.
"""
