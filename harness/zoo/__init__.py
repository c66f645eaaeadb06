"""The harness of the server zoo: which thread model is worth what, on this machine."""

__version__ = "0.1.0"
