-- Measures how many waiting requests a server can hold: each request sleeps in the server, for 10 s by default.
--
--   wrk -t2 -c1000 -d25s --timeout 60s -s wrk-scripts/sleep.lua http://127.0.0.1:8101
--   wrk -t2 -c1000 -d5s --timeout 60s -s wrk-scripts/sleep.lua http://127.0.0.1:8101 500     (500 ms)
--
-- A pool of 200 threads and a sleep of 10 s allow at most 20 responses per second, whatever the connections.
-- The default --timeout of 2 s would count every 10 s response as a timeout and leave the histogram empty.

dofile(debug.getinfo(1, "S").source:match("^@(.-)[^/]*$") .. "report.lua")

function init(args)
  wrk.path = "/sleep?ms=" .. (args[1] or "10000")
end
