#!/usr/bin/python3
"""Twelve bytes, from a process of their own for each request."""

import sys

sys.stdout.write("Content-Type: text/plain\r\nContent-Length: 12\r\n\r\nHello World!")
