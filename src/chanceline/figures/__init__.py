"""Pictures: every function draws a result on given axes and computes nothing. One file for each part of the package."""
