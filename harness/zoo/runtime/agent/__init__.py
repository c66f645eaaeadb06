"""The part of the harness that runs beside a server, and the harness's end of it."""
