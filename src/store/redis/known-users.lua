--[[
  Notes that users have charged now.

  KEYS     one of each user: when the first charge was and when it is forgotten, milliseconds since the epoch, with a space between
  ARGV[1]  for how long they are remembered, in milliseconds
  Output   how long ago each of them charged first, in milliseconds
]]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ages = {}
for i, key in ipairs(KEYS) do
  -- The clock may have been ahead when this was written. A value of another type is ignored and replaced.
  local known = string.match(reply_of('GET', key) or '', '^(%d+) %d+$')
  local first = known and #known < 16 and math.min(tonumber(known), now) or now
  redis.call('SET', key, string.format('%.0f %.0f', first, now + ARGV[1]), 'PX', ARGV[1])
  ages[i] = now - first
end
return ages
