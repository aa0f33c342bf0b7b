--[[
  Keeps a key set, unless one is there that the issuer sent later: it ends later.

  KEYS[1] where it is kept
  ARGV[1] the set
  ARGV[2] for how many milliseconds it is kept
]]
if redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[2]) then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
