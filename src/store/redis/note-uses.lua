--[[
  Notes when access keys were used. The last use never goes back: processes write in any order, and one of them may be slow.

  KEYS[1] hash: SHA-256 of an access key -> its record
  KEYS[2] hash: SHA-256 -> when it was used last, in milliseconds since the epoch
  ARGV    SHA-256 and time, in turn
]]
for i = 1, #ARGV, 2 do
  local hash, at = ARGV[i], ARGV[i + 1]
  -- A key that was removed, or that belonged to a forgotten user, does not come back.
  local is_known = redis.call('HGET', KEYS[1], hash)
  local before = is_known and tonumber(redis.call('HGET', KEYS[2], hash) or '') or 0
  if is_known and before < tonumber(at) then redis.call('HSET', KEYS[2], hash, at) end
end
