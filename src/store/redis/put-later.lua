--[[
  Keeps a text, unless the key has one that ends later.

  KEYS[1] the key
  ARGV[1] the text
  ARGV[2] for how many milliseconds the text is kept
  ARGV[3] the longest time for which texts are kept. A text that is kept so long replaces any other
]]
local for_ms = tonumber(ARGV[2])
if redis.call('PTTL', KEYS[1]) <= for_ms or for_ms >= tonumber(ARGV[3]) then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
