--[==[
  Makes one change at run time together with its entry in the audit. Whatever may fail is tried before the first write, so that an error
  leaves nothing half done, because Redis does not roll back. This text follows form/section.lua, form/windows.lua, forgotten.lua and
  history.lua, which have the forms of a counter, of what is left of a forgotten user, and of a history.

  KEYS[1]  number of the last change
  KEYS[2]  audit, a sorted set: the newest entries (JSON) of all kinds, by their numbers
  KEYS[3]  how many entries are forgotten
  KEYS[4..] for each kind in ARGV[11], in that order, a sorted set with the older entries of the kind
  then     the keys that are changed: the settings (string), the overrides of users or of organisations or the grants (hash), a user's
           counters, those of an organisation, or the counter of everybody in one category.
           For 'overrides': the overrides of users, the staged ones (hashes), and the key under which the replaced ones are kept, where the
           empty name has the number of the change; then the same three keys of organisations.
           For access keys: the records (hash, by SHA-256) and the SHA-256s (hash, by id).
           For 'user_forgotten': the user's counters, and the keys of what is edited
  ARGV[1]  what: 'settings', 'override', 'organisation_override', 'overrides', 'grant', 'reset', 'quota_reset', 'token_created',
           'token_revoked', 'token_opened', 'tokens_revoked', 'tokens_imported' or 'user_forgotten'
  ARGV[2]  the user, the organisation, the id of the access key or of the grant, or the scope and the category; empty for settings,
           'overrides' and 'tokens_imported'
  ARGV[3]  the same as JSON
  ARGV[4]  value to be stored, as JSON; 'null' deletes an override
  ARGV[5]  who, as JSON
  ARGV[6]  why, as JSON, followed by further members of the entry
  ARGV[7]  version that the settings or the override must have, 0 for none; empty for any; for 'overrides' the number that
           the last change must have
  ARGV[8]  how many of the newest entries the audit keeps
  ARGV[9]  channel on which the change is published
  ARGV[10] how many older entries of each kind the audit keeps
  ARGV[11] kinds, each followed by a blank
  ARGV[12] For 'reset' and 'quota_reset', JSON. `history` has the length of the common beginning of all keys, and for how many seconds the runs
           of the books and the longest window and those of the others are kept; it is empty if none are kept. 'quota_reset' also has
           `category`, the `windows` to be emptied, and `all`, whether all other windows are emptied too. Each window is [seconds, name as
           JSON], followed for a calendar window by its period [from, to] around the moment at which the change was encoded.
           For 'overrides': how many are staged of users and of organisations, and `from` of the audit as JSON, with blanks between.
           For access keys, JSON: each as [SHA-256, id, its record as JSON, whether it must exist and not be revoked].
           For 'grant', JSON: `endedAt` of a grant that is ended and must exist. For a grant that is given, `most`, the number of live grants of
           the owner at which no further one is given, and `owner`, a part of the JSON of each grant of the owner.
           For 'user_forgotten', JSON: what `forget` gets as `asked`, and `again`, whether the audit has the entry already
  ARGV[13] for 'overrides': for how many milliseconds the replaced overrides are kept
  Output   the entry (JSON) and how many other entries were forgotten; or an integer if no entry was made: the version that was not the
           expected one, 0 for an access key that is gone or revoked, or the number of the last change if the staged overrides are gone
           or with `again`

  A value is stored as its version, a space and its JSON. The JSON is not decoded and encoded here, because cjson confuses {} and [],
  and loses digits.
]==]

-- Empties windows of a counter in place. A section that changes loses its windows that are not running.
-- @param category  nothing for any
-- @param named  seconds of these windows -> the earliest start of a run that still runs; 0 for any moment
-- @param all    whether to empty all other windows too, except that of the books
-- Returns the bytes, the used tokens of the emptied windows by seconds, and whether a window still runs.
local function emptied(bytes, category, named, all, now)
  local used, runs, at = {}, false, 1
  while true do
    local next_at, name, windows, numbers, is_wide = section_at(bytes, at)
    if not name then return bytes, used, runs end
    local running, is_touched = {}, false
    for i = 1, windows do
      local seconds, started, tokens = window_at(bytes, windows, numbers, i, is_wide)
      local is_running = now < started + seconds * 1000
      -- A grant is given once, so what was taken from it stays taken.
      local is_of = category and name == category or not category and byte(name) ~= GRANT_MARK
      if is_of and started < (named[seconds] or 0) then is_running = false end
      if is_running and is_of and seconds ~= BOOK and (all or named[seconds]) then
        used[seconds] = used[seconds] or tokens
        -- A refund names a run by its start, so no later run may start there. A run emptied at this moment stays.
        is_running = started >= now or (started == now - 1 and tokens == 0)
        started, tokens, is_touched = now - 1, 0, true
      end
      if is_running then running[#running + 1] = { seconds, started, tokens } end
      runs = runs or is_running
    end
    if is_touched then
      local before, behind = sub(bytes, 1, at - 1) .. section_of(name, running), sub(bytes, next_at)
      bytes, next_at = before .. behind, #before + 1
    end
    at = next_at
  end
end

-- Used tokens by the names of windows, before and after, as JSON.
local function as_json(used, names)
  local before, after = {}, {}
  local function add(name, tokens)
    before[#before + 1], after[#after + 1] = name .. ':' .. string.format('%.0f', tokens), name .. ':0'
  end
  for _, each in ipairs(names) do
    add(each[2], used[each[1]] or 0)
    used[each[1]] = nil
  end
  -- A window that is no longer configured is named only if something was used in it.
  for seconds, tokens in pairs(used) do
    if tokens > 0 then add(string.format('"%.0fs"', seconds), tokens) end
  end
  return '{' .. table.concat(before, ',') .. '}', '{' .. table.concat(after, ',') .. '}'
end

-- A counter without its grants.
local function without_grants(bytes)
  local kept = {}
  for next_at, name, _, _, _, at in section_at, bytes, 1 do
    if byte(name) ~= GRANT_MARK then kept[#kept + 1] = sub(bytes, at, next_at - 1) end
  end
  return table.concat(kept)
end

-- Keeps the running windows of a user under a hash, and removes what names the user elsewhere.
-- @param key   the key of the counters
-- @param asked `salt` for a store that has none, `keep`, for how many milliseconds it is known that the user was forgotten, and `edits`. Each
--              edit names its key by a position, which is 1 for the key at `place`:
--                [key, 'key']                          deletes the key
--                [key, 'text', old, new]               replaces a string
--                [key, 'hash', field, old, new]        replaces a value, or deletes it if new is false; any value if old is false
--                [key, 'sorted', member, score, new]   replaces a member, or deletes it if new is false
--              An edit does nothing if its value has changed since it was read. The caller then looks again.
local function forget(key, asked, place, now)
  local prefix = prefix_of(KEYS[1])
  local salt, lasts = string.match(redis.call('GET', prefix .. 'forgotten') or '', '^(%x+) (%d+)$')
  salt = salt or asked.salt
  local left = prefix .. 'forgotten:' .. redis.sha1hex(salt .. ':' .. sub(key, #prefix + 3))
  local bytes, before = unpack(redis.call('MGET', key, left))
  if bytes and #bytes > LONGEST then bytes = false end
  -- Each command is tried first where it changes nothing, as below for other changes.
  for _, edit in ipairs(asked.edits) do
    local name, kind, a, b, new = KEYS[place + edit[1] - 1], edit[2], edit[3], edit[4], edit[5]
    if kind == 'key' then
      redis.call('DEL', left .. ':')
    elseif kind == 'hash' and new then
      if redis.call('HGET', name, a) == b then redis.call('HSET', name, a, b) end
    elseif kind == 'hash' then
      redis.call('HDEL', name, '')
    elseif kind == 'sorted' then
      redis.call('ZREM', name, '')
    end
  end
  local ends
  -- A user without counters may have been forgotten before. Then the windows from that time are kept. Grants are deleted with the user, so
  -- what was taken from them is not needed.
  bytes, ends = tidy(without_grants(bytes or before and sub(before, 7) or ''), now)
  ends = math.max(ends, now + asked.keep)
  lasts = string.format('%.0f', math.max(ends, tonumber(lasts or 0)))
  redis.call('SET', prefix .. 'forgotten', salt .. ' ' .. lasts, 'PXAT', lasts)
  redis.call('SET', left, pack('>I6', now) .. bytes, 'PXAT', string.format('%.0f', ends))
  for _, edit in ipairs(asked.edits) do
    local name, kind, a, b, new = KEYS[place + edit[1] - 1], edit[2], edit[3], edit[4], edit[5]
    if kind == 'key' then
      redis.call('DEL', name)
    elseif kind == 'text' then
      if redis.call('GET', name) == a then redis.call('SET', name, b, 'KEEPTTL') end
    elseif kind == 'hash' then
      if not b or redis.call('HGET', name, a) == b then
        if new then redis.call('HSET', name, a, new) else redis.call('HDEL', name, a) end
      end
    elseif redis.call('ZREM', name, a) == 1 and new then
      redis.call('ZADD', name, b, new)
    end
  end
end

local what, subject, to, expected = ARGV[1], ARGV[2], ARGV[4], ARGV[7]
local keep, channel, keep_of_kind = tonumber(ARGV[8]), ARGV[9], tonumber(ARGV[10])
local is_override = what == 'override' or what == 'organisation_override' or what == 'grant'
local is_token = string.match(what, '^tokens?_') ~= nil
local older, place = {}, 4
for kind in string.gmatch(ARGV[11], '(%S+) ') do older[kind], place = KEYS[place], place + 1 end

-- A value that somebody else wrote is ignored, so that it neither blocks a change nor gets into the audit.
local function is_object(json)
  local is_json, value = pcall(cjson.decode, json)
  return is_json and type(value) == 'table'
end

local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

-- How many grants of one owner pay now. @param owner  a part of the JSON of each of them, by which others are skipped
local function live_grants(key, to, owner)
  local whose, live = cjson.decode(to), 0
  for _, text in ipairs(redis.call('HVALS', key)) do
    local json = string.find(text, owner, 1, true) and string.match(text, '^%d+ (.+)$')
    if json and is_object(json) then
      local grant = cjson.decode(json)
      local is_own = grant.user == whose.user and grant.organisation == whose.organisation
      if is_own and grant.endedAt == cjson.null and (tonumber(grant['until']) or 0) > tonumber(now) then live = live + 1 end
    end
  end
  return live
end

local function count_at(key)
  local digits = string.match(redis.call('GET', key) or '', '^%d+$')
  return digits and #digits < 16 and tonumber(digits) or nil
end

local last = count_at(KEYS[1])
if not last then
  last = 0
  for _, entry in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
    if is_object(entry) then last = math.max(last, tonumber(string.match(entry, '^{"version":(%d+)') or 0)) end
  end
end
local stored
if what == 'settings' then
  stored = redis.call('GET', KEYS[place])
elseif is_override then
  stored = redis.call('HGET', KEYS[place], subject)
end

local known, from = string.match(stored or '', '^(%d+) (.+)$')
if known and (#known > 15 or not is_object(from)) then known, from = nil, nil end
if expected ~= '' and (what == 'settings' or is_override) then
  known = tonumber(known or 0)
  if known ~= tonumber(expected) then return known end
end

if what == 'grant' then
  local asked = cjson.decode(ARGV[12])
  if asked.endedAt then
    local is_done
    -- A quotation mark within a text has a backslash before it, so this finds only the member.
    to, is_done = string.gsub(from or '', '"endedAt":null', '"endedAt":' .. asked.endedAt)
    if is_done == 0 then return tonumber(known or 0) end
  elseif known or live_grants(KEYS[place], to, asked.owner) >= asked.most then
    return tonumber(known or 0)
  end
end

-- The overrides of users and of organisations: in force, staged, and where the replaced ones are kept.
local lists = {}
if what == 'overrides' then
  local users, organisations
  users, organisations, from = string.match(ARGV[12], '^(%d+) (%d+) (.+)$')
  for i, count in ipairs({ users, organisations }) do
    local at = place + 3 * (i - 1)
    lists[i] = { live = KEYS[at], staged = KEYS[at + 1], replaced = KEYS[at + 2], count = tonumber(count) }
  end
  local is_whole = last == tonumber(expected)
  for _, list in ipairs(lists) do is_whole = is_whole and redis.call('HLEN', list.staged) == list.count end
  if not is_whole then
    for _, list in ipairs(lists) do redis.call('UNLINK', list.staged) end
    return last
  end
end

local version = string.format('%.0f', last + 1)

local counter, counter_runs, history, history_bytes, lasts
if what == 'reset' or what == 'quota_reset' then
  local asked, named, used = cjson.decode(ARGV[12]), {}, nil
  for _, each in ipairs(asked.windows or {}) do
    local seconds, _, from, to = unpack(each)
    if from and (tonumber(now) < from or tonumber(now) >= to) then return redis.error_reply('CALENDAR ' .. now) end
    named[seconds] = from or 0
  end
  -- MGET returns nothing for a key of another type, as it does for charges.
  local bytes = redis.call('MGET', KEYS[place])[1] or ''
  if #bytes > LONGEST then bytes = '' end
  counter, used, counter_runs = emptied(bytes, asked.category, named, what == 'reset' or asked.all, tonumber(now))
  if what == 'quota_reset' then from, to = as_json(used, asked.windows) end
  if not counter_runs then counter = '' end
  local prefix, keep, shorter = unpack(asked.history)
  local archive = prefix and history_functions()
  history = prefix and archive.key(KEYS[place], prefix)
  if history then
    lasts = math.max(tonumber(now), select(2, tidy(bytes, 0))) + 1000 * math.max(keep, shorter)
    local known, ended = archive.read(history), archive.ended_runs(bytes, counter, huge, keep, shorter)
    history_bytes = ended and archive.with_runs(known, ended, tonumber(now), math.max(keep, shorter)) or known
  end
end

local entry = table.concat({
  '{"version":', version, ',"at":', now, ',"who":', ARGV[5], ',"what":"', what, '","subject":', ARGV[3],
  ',"from":', from or 'null', ',"to":', to, ',"why":', ARGV[6], '}',
})

-- These commands change nothing. They find a user of Redis without a right, and keys of another type, because otherwise a change
-- could be made that nobody finds in the audit. Redis refuses SET and ZADD when its memory is used up, and if they pass, it
-- refuses no later write here.
redis.call('SET', KEYS[1], string.format('%.0f', last))
redis.call('ZADD', KEYS[2], 'XX', 0, '')
redis.call('ZREMRANGEBYRANK', KEYS[2], 1, 0)
for _, key in pairs(older) do redis.call('ZADD', key, 'XX', 0, '') end

-- This changes some entries, so the entries that fall out are looked for afterwards.
if what == 'user_forgotten' then
  local asked = cjson.decode(ARGV[12])
  forget(KEYS[place], asked, place, tonumber(now))
  if asked.again then return last end
end

-- Entries that leave the newest ones move to the older ones of their kind, so that no kind displaces another.
local falling = redis.call('ZRANGE', KEYS[2], 0, -keep)
local forgotten = count_at(KEYS[3]) or 0

-- The change comes before the entry. It begins with one command that may still be refused, and then nothing is changed. So the audit never
-- has an access key as revoked that is still good. RENAME to an existing key would free its value at once, which would hold Redis up for
-- many overrides. So the replaced overrides are moved and stay for an undo. The number of this change stands among them under a name that
-- no user has.
if what == 'overrides' then
  for _, list in ipairs(lists) do
    if list.count > 0 then
      redis.call('RENAME', list.staged, list.staged)
      redis.call('PERSIST', list.staged)
    end
  end
  local function mark(list)
    local done = redis.pcall('HSET', list.live, '', version)
    -- A key of another type is no list of overrides.
    if type(done) == 'table' and string.find(done.err, '^WRONGTYPE') then
      redis.call('UNLINK', list.live)
      done = redis.pcall('HSET', list.live, '', version)
    end
    return done
  end
  local function clear(list) return redis.pcall('UNLINK', list.replaced) end
  -- The overrides that were kept for an earlier undo are deleted last, so that a refused file leaves them there.
  for _, step in ipairs({ mark, clear }) do
    for _, list in ipairs(lists) do
      local done = step(list)
      if type(done) == 'table' then
        for _, each in ipairs(lists) do redis.call('PEXPIRE', each.staged, 1000) end
        return done
      end
    end
  end
  for _, list in ipairs(lists) do
    redis.call('RENAME', list.live, list.replaced)
    -- Without the right to PEXPIRE the replaced overrides stay until the next file.
    redis.pcall('PEXPIRE', list.replaced, ARGV[13])
    if list.count > 0 then redis.call('RENAME', list.staged, list.live) end
  end
elseif is_token then
  for i = place, place + 1 do redis.call('HLEN', KEYS[i]) end
  local tokens = cjson.decode(ARGV[12])
  for _, token in ipairs(tokens) do
    -- A quotation mark within a text has a backslash before it, so this finds only the member.
    local kept = token[4] and (redis.call('HGET', KEYS[place], token[1]) or '')
    if kept and not string.find(kept, '"revokedAt":null', 1, true) then return 0 end
  end
  for _, token in ipairs(tokens) do
    local hash, id, record = unpack(token)
    redis.call('HSET', KEYS[place], hash, record)
    redis.call('HSET', KEYS[place + 1], id, hash)
  end
elseif what == 'settings' then
  redis.call('SET', KEYS[place], version .. ' ' .. to)
elseif is_override and to ~= 'null' then
  redis.call('HSET', KEYS[place], subject, version .. ' ' .. to)
elseif is_override then
  redis.call('HDEL', KEYS[place], subject)
elseif counter and history_bytes and history_bytes ~= '' then
  redis.call('SET', history, history_bytes, 'PXAT', string.format('%.0f', lasts))
  redis.call('SET', KEYS[place], counter, 'PXAT', string.format('%.0f', lasts))
elseif counter == '' then
  redis.call('DEL', KEYS[place])
elseif counter then
  -- The key keeps its time to live, which never ends before its last window.
  redis.call('SET', KEYS[place], counter, 'KEEPTTL')
end

-- From here on the script only writes.
redis.call('SET', KEYS[1], version)
redis.call('ZADD', KEYS[2], version, entry)
local gone = 0
for _, old in ipairs(falling) do
  -- The first member of this name is ours, because quotation marks within a text have a backslash before them.
  local number, kind = string.match(old, '^{"version":(%d+)'), string.match(old, '"what":"([^"]*)"')
  if number and older[kind] then redis.call('ZADD', older[kind], number, old) else gone = gone + 1 end
end
if #falling > 0 then
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -keep - 1)
  for _, key in pairs(older) do gone = gone + redis.call('ZREMRANGEBYRANK', key, 0, -keep_of_kind - 1) end
  redis.call('SET', KEYS[3], string.format('%.0f', forgotten + gone))
end
-- This is only a hint, so a user of Redis who may not publish can still make changes.
redis.pcall('PUBLISH', channel, version)
return { entry, gone }
