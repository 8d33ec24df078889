"""Export to ONNX: predictions of a fitted model as a graph that needs none of this library.

The graph takes what the user has, in the user's units: scaling, filling in of missing values and categories are inside.
Inputs are scaled in float64, because float32 would cancel where values are large and differ little; the two-layer
networks of all particles are evaluated together, in the float32 of `predict`; the rest is float64 again.
"""

from hyperplanes.estimators.onnx.classes import Classes
from hyperplanes.estimators.onnx.export import OnnxExport, write_onnx
from hyperplanes.estimators.onnx.responses import Responses

__all__ = ["Classes", "OnnxExport", "Responses", "write_onnx"]
