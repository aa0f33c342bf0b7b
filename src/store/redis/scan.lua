--[[
  One step of SCAN. It is a script for the sake of clusters: SCAN names no key and so would go to any node, a script goes
  to the one that holds its keys, and all of ours are on one.

  KEYS[1]  any of our keys
  ARGV[1]  cursor, '0' to begin
  ARGV[2]  pattern of the keys
  ARGV[3]  how many keys of the database one step looks at
  Output   cursor of the next step, '0' at the end; the keys
]]
return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
