"""An interactive problem whose tests contain the code of both sides."""

SEPARATOR = "\n---\n"
"""The text between the validator's code and the program's code in the input of a test."""

# The validator reads the test's input and sends the program its part.
VALIDATOR = f"""
import os, signal, sys, time
ours, theirs = open(sys.argv[1]).read().split({SEPARATOR!r})
print(len(theirs), theirs, sep="\\n", end="", flush=True)
def say(text): print(text, flush=True)
exec(ours)
"""
PROGRAM = """
import os, signal, sys, time
def say(text): print(text, flush=True)
exec(sys.stdin.read(int(sys.stdin.readline())))
"""
