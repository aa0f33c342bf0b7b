--[[
  Keeps first times for longer, and notes the present time where there is none.

  KEYS     for each, the first time and the time when it is forgotten, in milliseconds since the epoch, with a space between
  ARGV[1]  for how long they are kept, in milliseconds
  Output   how long ago each first time was, in milliseconds
]]
local ages = {}
for i, key in ipairs(KEYS) do
  -- The clock may have been ahead when this was written. A value of another type is ignored and replaced.
  local known = string.match(reply_of('GET', key) or '', '^(%d+) %d+$')
  local first = known and #known < 16 and math.min(tonumber(known), now) or now
  redis.call('SET', key, string.format('%.0f %.0f', first, now + ARGV[1]), 'PX', ARGV[1])
  ages[i] = now - first
end
return ages
