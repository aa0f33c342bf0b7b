--[[
  Keeps a text, unless the key has one that ends later.

  KEYS[1] the key
  ARGV[1] the text
  ARGV[2] for how many milliseconds the text is kept
]]
if redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[2]) then redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
