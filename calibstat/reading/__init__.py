"""Frames, files, classifiers and confidences, as the arguments of `examine`."""

from calibstat.reading.frames import frame_arguments
from calibstat.reading.sources import confidence_arguments, estimator_arguments, file_arguments

__all__ = ["confidence_arguments", "estimator_arguments", "file_arguments", "frame_arguments"]
