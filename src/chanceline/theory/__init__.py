"""Replica theory of the perceptron with variable selection; knows no search, no experiments."""
