--[[
  One charge in six windows, all or nothing; a window begins with its first accepted request.

  KEYS[i]            counter of a window, a plain number
  ARGV[1]            cost
  ARGV[2i], ARGV[2i+1]  length in milliseconds and limit of window i
  Output             0, or the number of the first window that refuses
]]
local cost = tonumber(ARGV[1])
local used = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do
  if (tonumber(used[i]) or 0) + cost > tonumber(ARGV[2 * i + 1]) then return i end
end
for i = 1, #KEYS do
  if used[i] then
    redis.call('INCRBY', KEYS[i], cost)
  else
    redis.call('SET', KEYS[i], cost, 'PX', ARGV[2 * i])
  end
end
return 0
