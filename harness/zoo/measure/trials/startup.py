"""startup: starts, each to its first good answer, and the memory at rest."""

from __future__ import annotations

from pathlib import Path

from zoo.analysis.flags import by_machine
from zoo.host import run_lock
from zoo.measure.trials import starts as timed
from zoo.measure.trials.base import TrialCell
from zoo.measure.trials.starts import Started, Startup
from zoo.model.condition import IN_IMAGES
from zoo.model.errors import RuntimeFailure
from zoo.model.flag import Flag
from zoo.model.record import Trial
from zoo.model.trial_results import StartupResult
from zoo.sample.instruments import known
from zoo.sample.noise import NoiseProbe
from zoo.scenarios.startup import REST_S, RESTS, Start


def trial(cell: TrialCell) -> Trial:
    way, starts = Start(cell.block.case.name), cell.program.repeats
    cell.tell(f"{starts} starts")
    probe = NoiseProbe().start()
    if cell.runtime.name in IN_IMAGES:
        found = _contained(cell, way, starts)
    else:
        with run_lock.scratch_folder("archives") as archives:
            found = timed.measure(cell.launch(), cell.runtime.jdk, way, Path(archives), starts)
    rested = [start for start in found.starts if start.rss_kb is not None]
    result = StartupResult(
        way=way,
        first_answer_s=[start.first_answer_s for start in found.starts],
        rss_kb=[start.rss_kb for start in rested if start.rss_kb is not None],
        anon_kb=[start.anon_kb for start in rested if start.anon_kb is not None],
        rest_s=REST_S,
        archive_kb=found.archive_kb,
    )
    # the CPU time of servers that came and went is not known, so neither is that of others
    heard = probe.stop(server_cpu_s=None)
    raised = by_machine(None, heard.throttled_share, heard.steal_share)
    return Trial(result=result, noise=heard, flags=[flag for flag in Flag if raised.get(flag)])


def _contained(cell: TrialCell, way: Start, starts: int) -> Startup:
    """From the command that starts a container to the line that says its server listens."""
    if way is not Start.DEFAULT:
        raise RuntimeFailure("no_archive", "archives are recorded for processes only, not in containers")
    made = []
    for number in range(starts):
        hosted = cell.runtime.start(cell.launch())
        ready_s = hosted.ready_s
        try:
            if ready_s is None:
                raise RuntimeFailure("not_timed", "the time of a start here would be its scheduler's, too")
            if number >= RESTS:
                made.append(Started(ready_s, None, None))
                continue
            cell.bench.clock.rest(REST_S)
            seen = known(hosted.instruments.snapshot(hosted.pid, deep=True))
            made.append(Started(ready_s, seen.rss_kb, seen.anon_kb))
        except ProcessLookupError:
            raise RuntimeFailure("crashed", "ended while it was at rest", hosted.log_tail()) from None
        finally:
            hosted.stop()
    return Startup(way, made, None)
