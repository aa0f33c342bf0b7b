--[[
  Makes one change at run time together with its entry in the audit. Whatever may fail is asked for before the first
  write, so that an error leaves nothing half done: Redis does not roll back.

  KEYS[1]  number of the last change
  KEYS[2]  audit, a sorted set: the newest entries (JSON) by their numbers, of every kind
  KEYS[3]  how many entries are forgotten
  KEYS[4..] a sorted set for each of the kinds of ARGV[11], in that order: its entries that are older than those
  behind   what is changed: the settings (string), the overrides (hash) or a user's counters; absent for a token
  ARGV[1]  what: 'settings', 'override', 'reset', 'token_created' or 'token_revoked'
  ARGV[2]  the user or the id of the token; empty for settings
  ARGV[3]  the same as JSON
  ARGV[4]  value to be stored, as JSON; 'null' takes an override away
  ARGV[5]  who, as JSON
  ARGV[6]  why, as JSON
  ARGV[7]  version that the settings or the override must have, 0 for none; empty for any
  ARGV[8]  entries that the audit keeps
  ARGV[9]  channel on which the change is told
  ARGV[10] entries that it keeps beyond these of each kind
  ARGV[11] kinds, each followed by a blank
  Output   the entry (JSON) and how many others were forgotten for it; or the version (integer) where it was not the
           expected one

  A value is stored as its version, a space and its JSON, which passes through here as it is: cjson would make one
  thing of {} and [], and lose digits.
]]
local what, subject, to, expected = ARGV[1], ARGV[2], ARGV[4], ARGV[7]
local keep, channel, keep_of_kind = tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10])
local older, place = {}, 4
for kind in string.gmatch(ARGV[11], '(%S+) ') do older[kind], place = KEYS[place], place + 1 end

local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if not last then return redis.error_reply('ERR the number of the last change is no number') end
local stored
if what == 'settings' then
  stored = redis.call('GET', KEYS[place])
elseif what == 'override' then
  stored = redis.call('HGET', KEYS[place], subject)
end

local known, from = string.match(stored or '', '^(%d+) (.+)$')
if expected ~= '' and (what == 'settings' or what == 'override') then
  known = tonumber(known or 0)
  if known ~= tonumber(expected) then return known end
end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local version = string.format('%.0f', last + 1)
local entry = table.concat({
  '{"version":', version, ',"at":', now, ',"who":', ARGV[5], ',"what":"', what, '","subject":', ARGV[3],
  ',"from":', from or 'null', ',"to":', to, ',"why":', ARGV[6], '}',
})

-- What falls out of the newest goes to the older ones of its kind: so many changes of one kind wash out none of another.
local falling = redis.call('ZRANGE', KEYS[2], 0, -keep)
local forgotten = redis.call('GET', KEYS[3])
if not forgotten and #falling > 0 then
  -- Builds before forgot the oldest one by one, and counted none.
  forgotten = tonumber(string.match(falling[1], '^{"version":(%d+)') or 1) - 1
end
forgotten = tonumber(forgotten or 0)
if not forgotten then return redis.error_reply('ERR the number of forgotten entries is no number') end

-- A user of Redis without the right to one of these is found out now, as is a key that holds another thing: a change would
-- be made that nobody finds in the audit. Both change nothing. Redis refuses ZADD when its memory is used up, and then no
-- write after it.
redis.call('ZADD', KEYS[2], 'XX', 0, '')
redis.call('ZREMRANGEBYRANK', KEYS[2], 1, 0)
for _, key in pairs(older) do redis.call('ZADD', key, 'XX', 0, '') end

-- From here on only writes.
redis.call('SET', KEYS[1], version)
if what == 'settings' then
  redis.call('SET', KEYS[place], version .. ' ' .. to)
elseif what == 'override' and to ~= 'null' then
  redis.call('HSET', KEYS[place], subject, version .. ' ' .. to)
elseif what == 'override' then
  redis.call('HDEL', KEYS[place], subject)
elseif what == 'reset' then
  redis.call('DEL', KEYS[place])
end
redis.call('ZADD', KEYS[2], version, entry)
local gone = 0
for _, old in ipairs(falling) do
  -- The first member of this name is ours: within a text its quotation marks have a backslash before them.
  local number, kind = string.match(old, '^{"version":(%d+)'), string.match(old, '"what":"([^"]*)"')
  if number and older[kind] then redis.call('ZADD', older[kind], number, old) else gone = gone + 1 end
end
if #falling > 0 then
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -keep - 1)
  for _, key in pairs(older) do gone = gone + redis.call('ZREMRANGEBYRANK', key, 0, -keep_of_kind - 1) end
  redis.call('SET', KEYS[3], string.format('%.0f', forgotten + gone))
end
-- Only a hint: a user of Redis who may not publish may still change.
redis.pcall('PUBLISH', channel, version)
return { entry, gone }
