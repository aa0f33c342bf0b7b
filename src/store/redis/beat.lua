--[[
  Keeps the report of a process with the time of Redis. Forgets processes that were silent for too long, and notes for each of them since when
  its counts may be missing. If such a process reports again, the note is deleted. A report from the future was made while the clock was ahead,
  so the silence of its process begins now.

  KEYS[1]  hash: instance -> when it reported last, in milliseconds
  KEYS[2]  hash: instance -> its report, JSON
  KEYS[3]  hash: forgotten instance -> since when its counts may be missing, and when it was forgotten, in milliseconds
  ARGV[1]  the instance that reports
  ARGV[2]  its report
  ARGV[3]  silence after which a process is forgotten, in milliseconds
  ARGV[4]  for how long a silence is known, in milliseconds
  ARGV[5]  how many silences are kept
]]
local forget, keep, most = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local function text(number) return string.format('%.0f', number) end

local beats, silent, ahead = redis.call('HGETALL', KEYS[1]), {}, {}
for _, key in ipairs({ KEYS[2], KEYS[3] }) do redis.call('HLEN', key) end -- The script fails before anything is written if a key is no hash.
for i = 1, #beats, 2 do
  local spoke = tonumber(beats[i + 1]) or 0
  if now - spoke > forget then silent[#silent + 1] = { beats[i], spoke } end
  if spoke > now then ahead[#ahead + 1] = beats[i] end
end

-- How long before its last report a process may have counted something without sending it.
local function unsent(instance)
  local is_json, report = pcall(cjson.decode, redis.call('HGET', KEYS[2], instance) or '')
  local told = is_json and type(report) == 'table' and report.unsent
  if type(told) ~= 'table' then return 0 end
  return math.max(0, tonumber(told.forMs) or 0) + math.max(0, tonumber(told.lateMs) or 0)
end

-- Removes silences that are too old. While there are too many, the two with the least time between them become one that covers both. No
-- process has the name of a joined silence, so no report deletes it.
local function bound_silences()
  local known, left = redis.call('HGETALL', KEYS[3]), {}
  for i = 1, #known, 2 do
    local since, till = string.match(known[i + 1], '^(%d+) (%d+)$')
    if not till or tonumber(till) <= now - keep then redis.call('HDEL', KEYS[3], known[i])
    else
      left[#left + 1] = { name = known[i], from = tonumber(since), to = tonumber(till) }
    end
  end
  table.sort(left, function(a, b) return a.from < b.from end)
  while #left > most do
    local nearest, least = 1, math.huge
    for i = 1, #left - 1 do
      local between = left[i + 1].from - left[i].to
      if between < least then nearest, least = i, between end
    end
    local first, second = left[nearest], table.remove(left, nearest + 1)
    redis.call('HDEL', KEYS[3], first.name, second.name)
    first.name, first.to = 'joined ' .. text(first.from), math.max(first.to, second.to)
    redis.call('HSET', KEYS[3], first.name, text(first.from) .. ' ' .. text(first.to))
  end
end

for _, one in ipairs(silent) do
  local instance, spoke = unpack(one)
  if spoke > now - keep then
    redis.call('HSET', KEYS[3], instance, text(spoke - unsent(instance)) .. ' ' .. text(now))
  end
  redis.call('HDEL', KEYS[1], instance)
  redis.call('HDEL', KEYS[2], instance)
end
if #silent > 0 then
  bound_silences()
  redis.call('PEXPIRE', KEYS[3], ARGV[4])
end
redis.call('HDEL', KEYS[3], ARGV[1])
ahead[#ahead + 1] = ARGV[1]
for _, instance in ipairs(ahead) do redis.call('HSET', KEYS[1], instance, text(now)) end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
for i = 1, 2 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
