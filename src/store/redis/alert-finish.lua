--[[
  Keeps the outcome of an attempt to deliver an event, unless another attempt was made since.

  KEYS[1]  zset of pending events by when they are due
  KEYS[2]  zset of all events by when they were raised
  KEYS[3]  zset of events that are not pending, by when they were delivered or given up
  KEYS[4]  hash of events
  ARGV[1]  id
  ARGV[2]  number of the attempt
  ARGV[3]  'pending', 'delivered' or 'given_up'
  ARGV[4]  when to try again, in milliseconds from now
  ARGV[5]  what went wrong; empty for nothing
  ARGV[6]  most events to keep that are not pending
  ARGV[7]  how long the events are kept when nobody asks for them, in milliseconds
]]
local due, all, done, events = unpack(KEYS)
local id, state = ARGV[1], ARGV[3]
local text = redis.call('HGET', events, 's:' .. id)
if not text then return 0 end
local is_json, known = pcall(cjson.decode, text)
if not is_json or type(known) ~= 'table' then return 0 end
if known.state ~= 'pending' or known.attempts ~= tonumber(ARGV[2]) then return 0 end

known.state = state
if ARGV[5] ~= '' then known.error = ARGV[5] end
if state == 'pending' then
  redis.call('ZADD', due, string.format('%.0f', now + ARGV[4]), id)
else
  known.done = now
  redis.call('ZREM', due, id)
  redis.call('ZADD', done, string.format('%.0f', now), id)
end
redis.call('HSET', events, 's:' .. id, cjson.encode(known))
forget_done(all, done, events, ARGV[6])
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[7]) end
return 1
