"""pt2bugs: an executable corpus of documented PyTorch 2 compiler bugs, measured per release.

Data flows one way: case files -> plan -> cells -> journal -> matrix -> answers. Imported inside every measured
environment, this module itself needs nothing but the standard library.
"""

__version__ = "0.2.0"
