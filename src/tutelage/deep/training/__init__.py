"""Students of finite width that learn from a teacher, many at once."""
