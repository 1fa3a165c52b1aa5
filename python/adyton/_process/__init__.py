"""The process that an application runs in: its forks, signals, stacks, user and end."""
