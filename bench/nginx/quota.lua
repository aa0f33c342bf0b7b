-- Charges a request before nginx forwards it: one call of charge.lua for each request, over connections that are kept.
local redis = require 'nginx.redis'

local quota = { users = {} }
local settings, script, sha

local HOUR = 3600000
local LIMIT = 1000000000000

function quota.init(given)
  settings = given
  script = io.open(settings.script):read('*a')
  for line in io.lines(settings.users) do
    local user, credential = line:match('^(%S+) (%S+)$')
    quota.users['Bearer ' .. credential] = user
  end
end

local function evaluate(connection, user)
  local own, all = 'n:u:' .. user .. ':read:', 'n:g:read:'
  local function call(command, first)
    return connection[command](connection, first, 6,
      own .. '1h', own .. '5h', own .. '1d', all .. '1h', all .. '5h', all .. '1d',
      1, HOUR, LIMIT, 5 * HOUR, LIMIT, 24 * HOUR, LIMIT, HOUR, LIMIT, 5 * HOUR, LIMIT, 24 * HOUR, LIMIT)
  end
  if sha then
    local refused, problem = call('evalsha', sha)
    if refused or not problem:find('NOSCRIPT', 1, true) then return refused, problem end
  end
  sha = connection:script('LOAD', script)
  return call('evalsha', sha)
end

function quota.admit()
  local user = quota.users[ngx.var.http_authorization]
  if not user then return ngx.exit(401) end
  local connection = redis:new()
  connection:set_timeout(2000)
  if not connection:connect('127.0.0.1', settings.redis) then return ngx.exit(503) end
  local refused = evaluate(connection, user)
  if not refused then return ngx.exit(503) end
  connection:set_keepalive(60000, 1100)
  if refused ~= 0 then return ngx.exit(429) end
  ngx.var.user = user
end

return quota
