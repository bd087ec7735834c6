"""pt2bugs: an executable corpus of documented PyTorch 2 compiler bugs, measured per release.

Data flows one way: case files -> plan -> cells -> journal -> matrix -> answers. The modules `case`,
`expectation`, `outcome`, `journal`, `cell`, `isolation`, `warmup` and `plugin` also run inside every
measured environment and import nothing there but the standard library, pytest and packaging.
"""

__version__ = "0.1.0"
