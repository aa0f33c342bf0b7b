--[[
  Makes one change at run time together with its entry in the audit. Whatever may fail is asked for before the first
  write, so that an error leaves nothing half done: Redis does not roll back.

  KEYS[1]  number of the last change
  KEYS[2]  audit, a sorted set: entry (JSON) by its number
  KEYS[3]  what is changed: the settings (string), the overrides (hash) or a user's counters; absent for a token
  ARGV[1]  what: 'settings', 'override', 'reset', 'token_created' or 'token_revoked'
  ARGV[2]  the user or the id of the token; empty for settings
  ARGV[3]  the same as JSON
  ARGV[4]  value to be stored, as JSON; 'null' takes an override away
  ARGV[5]  who, as JSON
  ARGV[6]  why, as JSON
  ARGV[7]  version that the settings or the override must have, 0 for none; empty for any
  ARGV[8]  entries that the audit keeps
  ARGV[9]  channel on which the change is told
  Output   the entry (JSON), or the version (integer) where it was not the expected one

  A value is stored as its version, a space and its JSON, which passes through here as it is: cjson would make one
  thing of {} and [], and lose digits.
]]
local what, subject, to, expected = ARGV[1], ARGV[2], ARGV[4], ARGV[7]
local keep, channel = tonumber(ARGV[8]), ARGV[9]

local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if not last then return redis.error_reply('ERR the number of the last change is no number') end
local stored
if what == 'settings' then
  stored = redis.call('GET', KEYS[3])
elseif what == 'override' then
  stored = redis.call('HGET', KEYS[3], subject)
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

-- A user of Redis without the right to one of these is found out now, as is a key that holds another thing: a change would
-- be made that nobody finds in the audit. Both change nothing. Redis refuses ZADD when its memory is used up, and then no
-- write after it.
redis.call('ZADD', KEYS[2], 'XX', 0, '')
redis.call('ZREMRANGEBYRANK', KEYS[2], 1, 0)

-- From here on only writes.
redis.call('SET', KEYS[1], version)
if what == 'settings' then
  redis.call('SET', KEYS[3], version .. ' ' .. to)
elseif what == 'override' and to ~= 'null' then
  redis.call('HSET', KEYS[3], subject, version .. ' ' .. to)
elseif what == 'override' then
  redis.call('HDEL', KEYS[3], subject)
elseif what == 'reset' then
  redis.call('DEL', KEYS[3])
end
redis.call('ZADD', KEYS[2], version, entry)
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -keep - 1)
-- Only a hint: a user of Redis who may not publish may still change.
redis.pcall('PUBLISH', channel, version)
return entry
