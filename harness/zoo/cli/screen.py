"""Where the commands print."""

from rich.console import Console

console = Console()
