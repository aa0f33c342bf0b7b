--[[
  Claims happenings and keeps them as events (alerts/alert-store.ts).

  KEYS     for each happening: the claim, and for its alert the zset of pending events by when they are due, the zset of all events
           by when they were raised, and the hash of events. The hash of targets is the last key
  ARGV[1]  most pending events of an alert
  ARGV[2]  how long a claim outlives its run, in milliseconds
  ARGV[3]  how long the events are kept when nobody asks for them, in milliseconds
  ARGV[4..] for each happening: start of the run, threshold, end of the run, id of the event, the happening as JSON, and the name
           and the target of the alert
  Output   for each happening '1' (stored), '0' (claimed before, or by a later run) or '2' (no room)
]]
local most, margin, keep = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

-- Whether a run is claimed already, or a later one. A claim is the start of a run and its threshold. A run in the future began while the clock
-- was ahead.
local function is_claimed(key, run, threshold)
  local known, reached = string.match(reply_of('GET', key) or '', '^(%d+) (%S+)$')
  if not known then return false end
  known, run = tonumber(known), tonumber(run)
  return (known > run and known <= now) or (known == run and tonumber(reached) >= tonumber(threshold))
end

-- Whether an alert has room for an event. If a key is of another type it has none, and the other alerts go on.
local function has_room(due, all, events)
  local pending = reply_of('ZCARD', due)
  return pending and pending < most and reply_of('ZCARD', all) and reply_of('HLEN', events)
end

local letters = {}
local targets = reply_of('HLEN', KEYS[#KEYS]) and KEYS[#KEYS]
for i = 1, (#KEYS - 1) / 4 do
  local claim, due, all, events = unpack(KEYS, 4 * i - 3, 4 * i)
  local run, threshold, ends, id, happening, alert, target = unpack(ARGV, 7 * i - 3, 7 * i + 3)
  if is_claimed(claim, run, threshold) then
    letters[i] = '0'
  elseif not has_room(due, all, events) then
    letters[i] = '2'
  else
    local left = math.max(tonumber(ends) - now, 0) + margin
    redis.call('SET', claim, run .. ' ' .. threshold, 'PX', string.format('%.0f', left))
    redis.call('HSET', events, 'h:' .. id, happening, 's:' .. id,
      cjson.encode({ state = 'pending', raised = now, attempts = 0 }))
    redis.call('ZADD', due, string.format('%.0f', now), id)
    redis.call('ZADD', all, string.format('%.0f', now), id)
    if targets then redis.call('HSET', targets, alert, target) end
    for _, key in ipairs({ due, all, events, targets or nil }) do redis.call('PEXPIRE', key, keep) end
    letters[i] = '1'
  end
end
return table.concat(letters)
