--[[
  Adds to the failure histogram, in the half hour that Redis's clock is in.

  KEYS[1]    hash: start of the bucket in milliseconds -> 'total status0 status5xx'
  ARGV[1..3] total, status0, status5xx to add
  ARGV[4]    length of a bucket in milliseconds
  ARGV[5]    number of buckets to keep
  Output     start of the bucket
]]
local total, status0, status5xx = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local length, keep = tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local start = math.floor(time[1] * 1000 / length) * length
local field = string.format('%.0f', start)

local known = redis.call('HGET', KEYS[1], field)
if known then
  local a, b, c = string.match(known, '^(%d+) (%d+) (%d+)$')
  total, status0, status5xx = total + (a or 0), status0 + (b or 0), status5xx + (c or 0)
end

redis.call('HSET', KEYS[1], field, string.format('%.0f %.0f %.0f', total, status0, status5xx))
if not known then
  for _, old in ipairs(redis.call('HKEYS', KEYS[1])) do
    if tonumber(old) <= start - keep * length then redis.call('HDEL', KEYS[1], old) end
  end
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', (keep + 1) * length))
return field
