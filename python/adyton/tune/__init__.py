"""``adyton tune``: how many processes and threads are best for an application on this machine.

The cost of one request is measured first. From this cost a model predicts the rate of each choice, and the
promising choices are tried, in each round fewer of them and for longer. Of choices that do not differ by more
than the noise, the smallest is taken. The winner is confirmed at four fifths of its rate, in an open loop:
requests are sent when they are due, whether earlier ones are answered or not.
"""

from adyton.tune.command import main

__all__ = ["main"]
