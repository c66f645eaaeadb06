"""ab: so many requests by ApacheBench."""

from __future__ import annotations

from zoo.analysis.flags import REOPENED_LIMIT
from zoo.analysis.responses import too_many
from zoo.load.ab import AbSpec
from zoo.measure.responses import bad_responses, sample
from zoo.measure.trials.base import TrialCell
from zoo.model.flag import Flag
from zoo.model.record import Trial
from zoo.model.trial_results import AbResult


def trial(cell: TrialCell) -> Trial:
    connections = cell.connections
    with cell.living() as server:
        cell.tell("measuring")
        spec = AbSpec(server.hosted.url + cell.block.case.path, cell.program.repeats, connections.actual)
        with cell.watch(server) as watch:
            found = server.hosted.benchmarker.run(spec, watch.tick)
            watch.generator_cpu_s = found.cpu_s
        bad = found.failed + found.non_2xx + found.write_errors
        if too_many(bad, found.requests):
            message = f"{bad:,} of {found.requests:,} responses were bad"
            raise bad_responses(message, sample(server.hosted, spec.url))
        result = AbResult(
            requests=found.requests,
            complete=found.complete,
            failed=found.failed,
            non_2xx=found.non_2xx,
            write_errors=found.write_errors,
            kept_alive=found.kept_alive,
            flawless=found.flawless,
            requests_per_s=found.requests_per_s,
            runtime_s=found.runtime_s,
            percentiles_us=found.percentiles_us,
            cpu_s=found.cpu_s,
            version=found.version,
        )
        closed = spec.keep_alive and found.complete - found.kept_alive > REOPENED_LIMIT * found.complete
        good = max(0, found.complete - found.failed - found.non_2xx)
        return watch.trial(result, good, connections, [Flag.RECONNECTS] if closed else [])
