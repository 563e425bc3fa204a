"""Replica theory of the perceptron with variable selection. Imports neither search nor experiments."""
