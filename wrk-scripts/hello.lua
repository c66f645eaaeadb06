-- Measures the cheapest response of a server: GET / as fast as the connections allow.
--
--   wrk -t2 -c100 -d10s --timeout 20s -s wrk-scripts/hello.lua http://127.0.0.1:8101

dofile(debug.getinfo(1, "S").source:match("^@(.-)[^/]*$") .. "report.lua")

wrk.path = "/"
