--[[
  Adds to the failure histogram, in the half hour that Redis's clock was in a while ago.

  KEYS[1]    hash: start of the bucket in milliseconds -> 'total status0 status5xx aside asideFailed status4xx'
  ARGV[1..6] what to add, in that order
  ARGV[7]    length of a bucket in milliseconds
  ARGV[8]    number of buckets to keep
  ARGV[9]    how long ago, in milliseconds
]]
local counts = { unpack(ARGV, 1, 6) }
local length, keep, ago = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local time = redis.call('TIME')
local now = time[1] * 1000
local start = math.floor((now - ago) / length) * length
local field = string.format('%.0f', start)

-- A bucket of another version may have more or fewer numbers.
local known = redis.call('HGET', KEYS[1], field)
local i = 0
for count in string.gmatch(known or '', '%d+') do
  i = i + 1
  if counts[i] then counts[i] = counts[i] + count end
end
for i, count in ipairs(counts) do counts[i] = string.format('%.0f', count) end

redis.call('HSET', KEYS[1], field, table.concat(counts, ' '))
if not known then
  for _, old in ipairs(redis.call('HKEYS', KEYS[1])) do
    if (tonumber(old) or 0) <= now - keep * length then redis.call('HDEL', KEYS[1], old) end
  end
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', (keep + 1) * length))
