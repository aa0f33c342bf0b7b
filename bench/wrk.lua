-- Load by wrk. Arguments: file with "METHOD PATH CREDENTIAL" lines, taken in turn; bytes of the body of each request.
local requests, count, at = {}, 0, 0

function init(args)
  local size = tonumber(args[2])
  local body = size > 0 and string.rep('x', size) or nil
  for line in io.lines(args[1]) do
    local method, path, credential = line:match('^(%S+) (%S+) (%S+)$')
    count = count + 1
    requests[count] = wrk.format(method, path,
      { ['Host'] = 'bench.local', ['Authorization'] = 'Bearer ' .. credential }, body)
  end
end

function request()
  at = at % count + 1
  return requests[at]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"refused":%d,"broken":%d,"p50":%d,"p99":%d}\n',
    summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)
  ))
end
