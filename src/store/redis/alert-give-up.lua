--[[
  Gives up the pending events of an alert that were raised long ago, and forgets where they go once none is pending.

  KEYS[1]  zset of pending events by when they are due
  KEYS[2]  zset of all events by when they were raised
  KEYS[3]  zset of events that are not pending, by when they were delivered or given up
  KEYS[4]  hash of events
  KEYS[5]  hash of the targets of alerts
  ARGV[1]  the alert
  ARGV[2]  how long ago an event must have been raised, in milliseconds
  ARGV[3]  why the events are given up
  ARGV[4]  most events to keep that are not pending
  ARGV[5]  how long the events are kept when nobody asks for them, in milliseconds
  Output   how many events were given up; 0 if one of the keys is of another type
]]
local due, all, done, events, targets = unpack(KEYS)
for _, key in ipairs({ due, all, done }) do
  if not reply_of('ZCARD', key) then return 0 end
end
if not reply_of('HLEN', events) then return 0 end

local count = 0
for _, id in ipairs(redis.call('ZRANGE', due, 0, -1)) do
  local raised = redis.call('ZSCORE', all, id)
  local text = redis.call('HGET', events, 's:' .. id)
  local is_json, known = pcall(cjson.decode, text or '')
  if not raised or not is_json or type(known) ~= 'table' then
    redis.call('ZREM', due, id)
  elseif tonumber(raised) <= now - ARGV[2] then
    known.state, known.error, known.done = 'given_up', ARGV[3], now
    redis.call('HSET', events, 's:' .. id, cjson.encode(known))
    redis.call('ZREM', due, id)
    redis.call('ZADD', done, string.format('%.0f', now), id)
    count = count + 1
  end
end
forget_done(all, done, events, ARGV[4])
if count > 0 then
  for _, key in ipairs({ due, all, done, events }) do redis.call('PEXPIRE', key, ARGV[5]) end
end
if redis.call('ZCARD', due) == 0 and reply_of('HLEN', targets) then redis.call('HDEL', targets, ARGV[1]) end
return count
