--[==[
  Notes in which windows gateways count from now on, each since when. One that they no longer name is forgotten: if it comes back, there is
  a gap before.

  KEYS[1] hash: name of a window -> since when, in milliseconds since the epoch; behind `keep ` stands what is noted of how long runs are kept
  ARGV    the names
]==]
local time, wanted = redis.call('TIME'), {}
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
for _, name in ipairs(ARGV) do wanted[name] = true end
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if not wanted[name] and string.sub(name, 1, 5) ~= 'keep ' then redis.call('HDEL', KEYS[1], name) end
  wanted[name] = nil
end
for _, name in ipairs(ARGV) do
  if wanted[name] then redis.call('HSET', KEYS[1], name, now) end
end
