"""Pictures: every function draws a result on given axes and computes nothing.

There is one file for each part of the package.
"""
