-- Load by wrk. Arguments: file with "METHOD PATH CREDENTIAL" lines, taken in turn; how many of them to leave out at first;
-- bytes of the body of each request. In place of a credential a line may have whole fields, "NAME: VALUE | NAME: VALUE".
-- A tab and a body may end the line.
local requests, count, at = {}, 0, 0

-- The credential goes last, where LuaJIT's hash of a string looks: it skips the second half but for the last 8 bytes.
-- wrk.format puts the headers in an order of chance. With Host last nearly all requests hashed alike in every other
-- run, and 100,000 of them took minutes, each being compared with all before it.
local function format(method, path, credential, body)
  local head = method .. ' ' .. path .. ' HTTP/1.1\r\nHost: bench.local\r\n'
  if body then head = head .. 'Content-Length: ' .. #body .. '\r\n' end
  local field = credential:find(': ', 1, true) and credential or 'Authorization: Bearer ' .. credential
  return head .. field:gsub(' | ', '\r\n') .. '\r\n\r\n' .. (body or '')
end

function init(args)
  local size = tonumber(args[3])
  at = tonumber(args[2])
  local body = size > 0 and string.rep('x', size) or nil
  for line in io.lines(args[1]) do
    count = count + 1
    local method, path, credential, own = line:match('^(%S+) (%S+) ([^\t]+)\t?(.*)$')
    requests[count] = format(method, path, credential, own ~= '' and own or body)
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
