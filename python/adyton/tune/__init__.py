"""``adyton tune``: how many processes and threads an application wants on this machine.

One request alone says what a request costs; a model made of that predicts what each choice would serve, and
the promising ones are tried, fewer and longer each time. What cannot be told apart is not told apart: the
smaller choice is taken. The winner is confirmed at four fifths of its rate, with requests that come whether
it answers or not.
"""

from adyton.tune.command import main

__all__ = ["main"]
