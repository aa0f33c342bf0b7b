-- The time of Redis, in milliseconds since the epoch.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- The reply of a command, or nothing if the key holds another type than ours. Other errors end the script.
local function reply_of(command, key)
  local reply = redis.pcall(command, key)
  if type(reply) ~= 'table' or not reply.err then return reply or nil end
  if not string.find(reply.err, 'WRONGTYPE', 1, true) then redis.call(command, key) end
  return nil
end
