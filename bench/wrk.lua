-- Load by wrk: each request carries the credential of the next user. Arguments: path, file with one credential a line.
local requests, count, at = {}, 0, 0

function init(args)
  for line in io.lines(args[2]) do
    count = count + 1
    requests[count] = wrk.format('GET', args[1], { ['Host'] = 'bench.local', ['Authorization'] = 'Bearer ' .. line })
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
