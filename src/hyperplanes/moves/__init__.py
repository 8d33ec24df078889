"""Markov moves on the unknowns of one particle.

A move takes (key, state, exponent, data, prior) and returns the new state and the share of its proposals that were
accepted. Each leaves prior * likelihood^exponent invariant. Moves are written for one particle; the caller vectorises
them.
"""

from hyperplanes.moves.compound import Visits, compound_round
from hyperplanes.moves.gibbs import refresh_output_layer, sweep_output_layer
from hyperplanes.moves.redraw import redraw_given_coefficients
from hyperplanes.moves.rounds import collapsed_round, superposed_round
from hyperplanes.moves.state import Move, State, make_state

__all__ = [
    "Move",
    "State",
    "Visits",
    "collapsed_round",
    "compound_round",
    "make_state",
    "redraw_given_coefficients",
    "refresh_output_layer",
    "superposed_round",
    "sweep_output_layer",
]
