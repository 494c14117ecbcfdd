"""Numerics without physics: functions in, values with an outcome out."""
