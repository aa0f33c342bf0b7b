--[==[
  What is left of users who were forgotten, for the scripts that follow this text.

  The key `forgotten` has the salt (hexadecimal), a blank, and the time at which the last of the other keys ends (milliseconds). There is another
  key for each user: `forgotten:` and the SHA-1 of salt, colon and user. It has the time at which the user was forgotten (6 bytes, big-endian),
  and the sections of the windows that ran then. The next charge moves the sections back to the name of the user, but the time stays.
]==]
-- The common beginning of all keys.
local function prefix_of(key) return string.match(key, '^{[^}]*}:') end

-- Returns a function that returns the key of what is left of a user, or false if nobody was forgotten.
local function forgotten_places(prefix)
  local salt
  return function(user)
    if salt == nil then salt = string.match(redis.call('GET', prefix .. 'forgotten') or '', '^%x+') or false end
    return salt and prefix .. 'forgotten:' .. redis.sha1hex(salt .. ':' .. user)
  end
end
