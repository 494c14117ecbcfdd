"""Numerics without physics: functions in, values with an outcome out.

Other packages may use the module `continuation`.
"""
