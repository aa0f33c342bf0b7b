--[[
  Keeps what a process reports of itself, at the moment of Redis's clock, and forgets those that were silent for long. Who
  spoke in the future spoke while the clock was ahead: of him the silence begins now.

  KEYS[1]  hash: instance -> when it spoke last, in milliseconds
  KEYS[2]  hash: instance -> its report, JSON
  ARGV[1]  instance
  ARGV[2]  its report
  ARGV[3]  silence after which a process is forgotten, in milliseconds
]]
local forget = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local beats, silent, ahead = redis.call('HGETALL', KEYS[1]), {}, {}
redis.call('HLEN', KEYS[2]) -- fails before anything is written where it is no hash
for i = 1, #beats, 2 do
  local spoke = tonumber(beats[i + 1]) or 0
  if now - spoke > forget then silent[#silent + 1] = beats[i] end
  if spoke > now then ahead[#ahead + 1] = beats[i] end
end

for _, instance in ipairs(silent) do
  redis.call('HDEL', KEYS[1], instance)
  redis.call('HDEL', KEYS[2], instance)
end
ahead[#ahead + 1] = ARGV[1]
for _, instance in ipairs(ahead) do redis.call('HSET', KEYS[1], instance, string.format('%.0f', now)) end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[3]) end
