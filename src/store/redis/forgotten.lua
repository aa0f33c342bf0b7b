--[==[
  What is left of users who were forgotten, for the scripts that this text goes before, behind form/section.lua.

  Under `forgotten` of the prefix lies the salt (hexadecimal), a blank, and when the last of these keys ends (milliseconds). Under
  `forgotten:` and the SHA-1 of salt, colon and user: when the user was forgotten (6 bytes, big-endian), and the sections of the windows that
  ran then. With the next charge they go back under the name; the time stays.
]==]
-- The common beginning of all keys.
local function prefix_of(key) return string.match(key, '^{[^}]*}:') end

-- Returns a function from a user to the place of what is left of him; false if nobody was forgotten.
local function forgotten_places(prefix)
  local salt
  return function(user)
    if salt == nil then salt = string.match(redis.call('GET', prefix .. 'forgotten') or '', '^%x+') or false end
    return salt and prefix .. 'forgotten:' .. redis.sha1hex(salt .. ':' .. user)
  end
end
