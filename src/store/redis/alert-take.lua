--[[
  Takes events that are due. A taken event is due again at the end of its lease.

  KEYS     for each alert: the zset of pending events by when they are due, and the hash of events
  ARGV[1]  the lease in milliseconds
  ARGV[2..] for each alert the most events
  Output   the time in milliseconds, and for each event the number of its alert, its id, the happening as JSON, and its state as JSON.
           An alert with a key of another type has one entry with an empty id, whose happening is 'due' if the key is the zset
]]
local lease = tonumber(ARGV[1])
local taken = { string.format('%.0f', now) }

for i = 1, #KEYS / 2 do
  local due, events = KEYS[2 * i - 1], KEYS[2 * i]
  local is_order, is_hash = reply_of('ZCARD', due), reply_of('HLEN', events)
  local ids = {}
  if is_order and is_hash then
    ids = redis.call('ZRANGE', due, '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, ARGV[i + 1])
  else
    for _, text in ipairs({ tostring(i), '', is_order and '' or 'due', '' }) do taken[#taken + 1] = text end
  end
  for _, id in ipairs(ids) do
    local happening, state = unpack(redis.call('HMGET', events, 'h:' .. id, 's:' .. id))
    if happening and state then
      local is_json, known = pcall(cjson.decode, state)
      if is_json and type(known) == 'table' and type(known.attempts) == 'number' and pcall(cjson.decode, happening) then
        known.attempts = known.attempts + 1
        state = cjson.encode(known)
        redis.call('HSET', events, 's:' .. id, state)
        redis.call('ZADD', due, string.format('%.0f', now + lease), id)
      else
        -- The reader reports this event. It is no longer due, so that it does not block the events behind it.
        redis.call('ZREM', due, id)
      end
      for _, text in ipairs({ tostring(i), id, happening, state }) do taken[#taken + 1] = text end
    else
      redis.call('ZREM', due, id)
    end
  end
end
return taken
