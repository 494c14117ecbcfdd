"""The best learning rates, schedules and weight decays for a goal."""
