--[[
  One step of SCAN. In a cluster the command SCAN would go to any node, because it names no key. A script goes to the node that
  holds its keys, and all our keys are on one node.

  KEYS[1]  any of our keys
  ARGV[1]  cursor, '0' to begin
  ARGV[2]  pattern of the keys
  ARGV[3]  how many keys of the database one step looks at
  Output   cursor of the next step, '0' at the end; the keys
]]
return redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
