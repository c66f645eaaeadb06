-- Prints the latencies that wrk measured instead of those it reports.
--
--   wrk -t2 -c100 -d10s --timeout 20s -s wrk-scripts/report.lua http://127.0.0.1:8101/
--
-- Before done() runs, wrk "corrects" its histogram for coordinated omission: for every latency n above
-- 2 * interval it adds samples at n - interval, n - 2 * interval, ... down to the interval. With connections
-- that send as fast as responses arrive, those samples are invented. The addition is exact, so this script undoes it.
--
-- With ZOO_WRK_JSON=file in the environment, done() writes one JSON object to that file, the histogram as
-- wrk had it, and prints nothing: the harness inverts and checks it.
--
-- wrk's clock starts when its last thread has been created, but each thread starts immediately, and its responses
-- count. If the first threads keep the cores busy, a second of load can be outside the window. So all threads wait for
-- the last one.
--
-- With ZOO_WRK_ADDRESSES=127.0.0.1,127.0.0.2 the threads take these addresses in turn instead of the URL's. The
-- server must listen on all of them (0.0.0.0). Needed from about 14,000 connections on: see README.md.
--
-- With ZOO_WRK_CENSUS=1, response() counts the responses that are not 2xx; wrk itself counts only those above 399. This
-- makes wrk slow, so the harness uses it only to find the cause of bad responses, in a load that it does not measure.
--
-- With ZOO_WRK_SECONDS=1, the JSON object has the number of responses in each whole second. wrk tells a script when it
-- sends, not when it receives, but each connection sends its next request as soon as it has the response.

local ffi = require("ffi")

-- src/stats.h of wrk 4.x. latency(i) counts bins from the start on each call; the struct is read once.
ffi.cdef [[
  typedef struct { uint64_t count, limit, min, max; uint64_t data[]; } wrk_stats;
  int usleep(unsigned int);
  typedef struct { long s, ns; } zoo_timespec;
  int clock_gettime(int, zoo_timespec *);
]]

local METRIC = { k = 1e3, m = 1e6, g = 1e9 }
local TIME = { s = 1, m = 60, h = 3600 }
local LONGEST_START_US = 1e7

local function scaled(text, units)
  local number, unit = text:match("^(%d+)(%a?)")
  return tonumber(number) * (units[unit:lower()] or 1)
end

-- Reads wrk's options from /proc, because wrk does not pass them to scripts. Later ones win, as in getopt.
local function options()
  local file = assert(io.open("/proc/self/cmdline", "rb"))
  local words = {}
  for word in file:read("*a"):gmatch("(%Z*)%z") do words[#words + 1] = word end
  file:close()

  local found = { c = "10", t = "2", T = "2" }
  local long = { connections = "c", duration = "d", threads = "t", script = "s", header = "H", timeout = "T" }
  local i = 2
  while i <= #words and words[i] ~= "--" do
    local word, key, value = words[i], nil, nil
    local name = word:match("^%-%-([^=]+)")
    if name then
      for full, short in pairs(long) do
        if full:sub(1, #name) == name then key = short end
      end
      value = word:match("=(.*)") or ""
    else
      key, value = word:match("^%-[Lr]*([tcdsHT])(.*)")
    end
    if key and value == "" then
      i = i + 1
      value = words[i]
    end
    if key then found[key] = value end
    i = i + 1
  end
  return scaled(found.c, METRIC), scaled(found.T, TIME), scaled(found.t, METRIC)
end

-- Returns the struct behind the latency object, after a check that it has the layout declared above.
local function stats_of(latency, timeout_s)
  local stats = ffi.cast("wrk_stats **", latency)[0]
  local limit = tonumber(stats.limit)
  assert(limit == timeout_s * 1e6 + 1, "wrk's stats have another layout: limit " .. limit)
  assert(stats.count == 0 or (stats.min <= stats.max and stats.max < stats.limit), "wrk's stats: min, max")
  return stats
end

-- Returns the non-empty bins in rising order: microseconds and samples. Without an interval, they are those of wrk.
local function bins(stats, interval)
  local values, counts, total = {}, {}, 0
  if stats.count == 0 then return values, counts, total end
  local data, max = stats.data, tonumber(stats.max)
  for us = tonumber(stats.min), max do
    local count = tonumber(data[us])
    if interval and us > interval and us + interval <= max then
      count = count - tonumber(data[us + interval])
    end
    if count ~= 0 then
      assert(count > 0, "the correction cannot be undone: a negative bin")
      values[#values + 1], counts[#counts + 1] = us, count
      total = total + count
    end
  end
  return values, counts, total
end

-- Returns the number of responses that were not 2xx, over all threads, and one of them.
local function census_json(threads)
  local bad, sample = 0, ""
  for _, thread in ipairs(threads) do
    bad = bad + (thread:get("census_bad") or 0)
    sample = thread:get("census_sample") or sample
  end
  sample = sample:gsub('[%c\128-\255]', " "):gsub('[\\"]', "\\%0")
  return string.format('"census":{"bad":%d,"sample":"%s"},', bad, sample)
end

-- Returns the responses of each whole second, over all threads: the requests sent without each connection's first, and
-- without the one that wrk makes before it starts, to look at.
local function seconds_json(threads, connections, duration_us)
  local whole = {}
  for second = 1, math.floor(duration_us / 1e6) do whole[second] = 0 end
  for _, thread in ipairs(threads) do
    for second, count in pairs(thread:get("sent_by_second") or {}) do
      if whole[second] then whole[second] = whole[second] + count end
    end
  end
  if whole[1] then whole[1] = math.max(0, whole[1] - connections - 1) end
  return '"seconds":[' .. table.concat(whole, ",") .. '],'
end

local function write_json(path, summary, stats, threads, connections)
  local values, counts, total = bins(stats)
  assert(total == tonumber(stats.count), "wrk's stats have another layout: count is not the sum of the bins")
  local e = summary.errors
  local file = assert(io.open(path, "w"))
  assert(file:write(
    string.format('{"requests":%.0f,"bytes":%.0f,"runtime_us":%.0f,"limit":%.0f,"count":%.0f,',
      summary.requests, summary.bytes, summary.duration, tonumber(stats.limit), total),
    string.format('"errors":{"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d},',
      e.connect, e.read, e.write, e.status, e.timeout),
    os.getenv("ZOO_WRK_CENSUS") and census_json(threads) or "",
    os.getenv("ZOO_WRK_SECONDS") and seconds_json(threads, connections, summary.duration) or "",
    '"values":[', table.concat(values, ","), '],"counts":[', table.concat(counts, ","), "]}\n"))
  assert(file:close())
end

-- Nearest rank: the smallest latency that at least this share of the samples does not exceed.
local function percentile(values, counts, total, percent)
  local rank, seen = math.max(1, math.ceil(percent * total / 100 - 1e-9)), 0
  for i = 1, #values do
    seen = seen + counts[i]
    if seen >= rank then return values[i], total - rank end
  end
end

local function print_latencies(values, counts, total)
  print("  Latency as measured (wrk's correction undone)")
  for _, percent in ipairs { 50, 75, 90, 99, 99.9, 99.99 } do
    local us, beyond = percentile(values, counts, total, percent)
    print(string.format("  %8s%% %12.3f ms%s", percent, us / 1e3, beyond < 100 and "  (fewer than 100 samples beyond)" or ""))
  end
  print(string.format("       max  %12.3f ms", values[#values] / 1e3))
end

local function print_table(summary, stats, connections)
  local each = math.floor(summary.requests / connections)
  local interval = each > 0 and math.floor(summary.duration / each) or nil
  local values, counts, total = bins(stats, interval)
  local e = summary.errors
  assert(total == summary.requests - e.timeout, "the correction cannot be undone: samples are not requests - timeouts")

  print("")
  if total > 0 then print_latencies(values, counts, total) end
  local sum = 0
  for i = 1, #values do sum = sum + values[i] * counts[i] end
  print(string.format("  %.0f samples, %.0f requests in %.2f s, %.0f of them good",
    total, summary.requests, summary.duration / 1e6, math.max(0, summary.requests - e.status - e.timeout)))
  print(string.format("  Errors: connect %d, read %d, write %d, status %d, timeout %d",
    e.connect, e.read, e.write, e.status, e.timeout))
  print(string.format("  Connections kept busy: %.0f %% of %d", 100 * sum / summary.duration / connections, connections))
end

-- Returns whether the calling thread generates load, and the number of threads of the process. Needs Linux 3.17.
local function threads_now()
  local file = io.open("/proc/thread-self/status")
  if not file then return false, math.huge end
  local text = file:read("*a")
  file:close()
  return text:match("\nPid:\t(%d+)") ~= text:match("\nTgid:\t(%d+)"), tonumber(text:match("\nThreads:\t(%d+)"))
end

local function wait_for_all(threads)
  local pause_us = 250 * threads -- checking takes all threads together a fifth of a core
  for _ = 1, LONGEST_START_US / pause_us do
    local loads, present = threads_now()
    if not loads or present > threads then return end
    ffi.C.usleep(pause_us)
  end
end

-- Each thread calls request() once before it connects; the main thread has called that of the first one before.
-- The options are read here, before any thread connects, because later no file descriptor may be left.
local initialise = wrk.init
function wrk.init(args)
  initialise(args)
  local request = wrk.request
  local _, _, threads = options()
  function wrk.request()
    wait_for_all(threads)
    return request()
  end
end

local MONOTONIC = 1
local clock = ffi.new("zoo_timespec")

local function now()
  ffi.C.clock_gettime(MONOTONIC, clock)
  return tonumber(clock.s) + tonumber(clock.ns) / 1e9
end

local addresses = {}
for address in (os.getenv("ZOO_WRK_ADDRESSES") or ""):gmatch("[^,]+") do addresses[#addresses + 1] = address end
local threads = {}

function setup(thread)
  if #addresses > 0 then
    thread.addr = wrk.lookup(addresses[#threads % #addresses + 1], wrk.port or wrk.scheme)[1]
  end
  threads[#threads + 1] = thread
end

if os.getenv("ZOO_WRK_SECONDS") then
  sent_by_second = {}
  local calls, second, since, every, text = 0, 1, nil, 1, nil

  -- wrk calls this for every request. The first call may be the main thread's, and the second the one that waits for
  -- the other threads. Reading the clock takes longer than all the rest here, so a fast load reads it less often.
  function request()
    calls = calls + 1
    if calls <= 2 then
      text = wrk.request()
      since = now()
    elseif calls % every == 0 then
      local current = math.floor(now() - since) + 1
      if current ~= second then
        every = (sent_by_second[second] or 0) > 1000 and 10 or 1
        second = current
      end
    end
    sent_by_second[second] = (sent_by_second[second] or 0) + 1
    return text
  end
end

if os.getenv("ZOO_WRK_CENSUS") then
  function response(status, headers, body)
    if status < 200 or status > 299 then
      census_bad = (census_bad or 0) + 1
      local location = headers["Location"] or headers["location"]
      census_sample = status .. (location and " Location: " .. location or "") .. " " .. body:sub(1, 80)
    end
  end
end

function done(summary, latency)
  local connections, timeout_s = options()
  local stats = stats_of(latency, timeout_s)
  local path = os.getenv("ZOO_WRK_JSON")
  if path then
    write_json(path, summary, stats, threads, connections)
  else
    print_table(summary, stats, connections)
  end
end
