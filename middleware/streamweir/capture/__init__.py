"""Capture files: recorded streams, with everything needed to inspect, replay and learn from them.

Source: the contract of capture files.
"""

from streamweir.capture.capture import Capture
from streamweir.capture.cut_body_mask import CutBodyMask
from streamweir.capture.masking import SecretMask
from streamweir.capture.reading import CaptureError, begins_capture, load, parse_captures
from streamweir.capture.writing import CaptureWriter, body_fields, recorded_headers

__all__ = [
    "Capture",
    "CaptureError",
    "CaptureWriter",
    "CutBodyMask",
    "SecretMask",
    "begins_capture",
    "body_fields",
    "load",
    "parse_captures",
    "recorded_headers",
]
