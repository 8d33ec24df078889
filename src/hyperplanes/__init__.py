"""Bayesian regression with two-layer ReLU networks whose hidden units are a Poisson process of hyperplanes."""
