-- Deletes the oldest events that are not pending. @param most  how many of them are kept
local function forget_done(all, done, events, most)
  for _, old in ipairs(redis.call('ZRANGE', done, 0, -1 - most)) do
    redis.call('ZREM', done, old)
    redis.call('ZREM', all, old)
    redis.call('HDEL', events, 'h:' .. old, 's:' .. old)
  end
end

