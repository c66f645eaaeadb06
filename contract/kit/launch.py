"""Launcher that becomes the server, dies with the suite, resets SIGINT and can lower the soft descriptor limit.

Usage: launch.py SOFT_LIMIT|- COMMAND...   (a separate program, because little is safe between fork and exec)
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1

soft, *command = sys.argv[1:]
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
signal.signal(signal.SIGINT, signal.SIG_DFL)
if soft != "-":
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (int(soft), hard))
os.execvp(command[0], command)
