--[==[
  Settles one batch of refunds and charges. The script reads and checks everything before its first write, so that an error (out of
  memory, read-only replica) leaves nothing half done, because Redis does not roll back. This text follows form/section.lua, which has
  the form of a counter. It settles the most frequent batch itself, and charge.lua settles all others. Between the two texts stand
  form/windows.lua, forgotten.lua, history.lua and once.lua, whose functions are not created for the most frequent batch.

  KEYS[1]   the last reply to the instance that sends the batch
  KEYS[2..] the counters that the batch touches, and what is remembered of charges by a key, each once
  ARGV[1]   sequence of the batch within its instance
  ARGV[2]   how long the reply is remembered, in milliseconds
  ARGV[3]   JSON. A key is given by its position in KEYS. Everything else is counted from 1:
              shapes   [[seconds, ..., from, to, category], ...]
                       The windows of a category. If the last of them is that of the books, `from` and `to` are the day around the
                       moment at which the batch was made. Otherwise both are 0.
              limits   [[limit, ...], ...]
                       A limit for each window of a shape, except for that of the books, which is always the last window.
              plans    [[cost, ...], ...]
                       What many charges have in common. batch-text.ts names the numbers. A forced charge is accepted whatever was
                       used, and may have no personal windows.
              periods  [shape, window, from, to, ...]
                       For each other calendar window, its period around the moment at which the batch was made.
              history  'prefix keep shorter anonymous key ...'
                       `prefix` is the length of the common beginning of all keys. The next three numbers say for how many seconds
                       runs are kept: those of the books and of the longest window of a category, those of other windows, and those
                       of all windows of anonymous users. The keys of the anonymous users follow. The keys of histories are made from
                       those of the counters. Few batches touch a history, so this is a text that other batches need not take apart.
              refunds  [[key, category, amount, seconds, startedAt, ...], ...]
                       An amount that is given back to these runs. An amount below 0 is charged.
              onces    [[charge, key, body, for, replays, forgotten, receipt, one], ...]
                       A charge, by its number, whose request may be repeated under a key: the hash of its body, for how many
                       milliseconds and how many times a repetition is not charged, after how many milliseconds the charge may be
                       forgotten, and its receipt without the starts of runs. `one` is 1 if all requests with the key are one use,
                       else it is missing.
              uses     [[key, first, since, forgotten, cost, reserve, unreached, from, to, meter, kept], ...]
                       What one use of a remembered charge cost in a meter. `first` is 1 for the use by the charged request itself,
                       and 0 for a repetition. `since` is the time of the charge, and `reserve` is what the use was charged, or would
                       have been charged without the key. `unreached` is 1 if the request did not reach the upstream. `from` and `to`
                       are the first and the last of its refunds, whose amounts the script calculates. `meter` is 0 for the first
                       meter. `kept` is 1 if the report is remembered even if the charge is not, else it is missing.
              meters   [[charge, plan, organisation, ...], ...]
                       A charge, by its number, with the plan of each further meter and the key of its organisation (0 for none).
                       All meters are charged, or none. A charge with grants is in this list even if it has no further meter.
              grants   [[charge, meter, scope, shape, until, tokens], ...]
                       A grant that can pay for a charge in a meter and a scope (1 for the user, 2 for the organisation) if the
                       windows of the scope have no room. Of these windows only that of the books is then charged. The first grant
                       that has room and has not ended (`until`, in milliseconds) pays.
            All but the first three are missing if they are empty.
  ARGV[4]   the charges. Each has 4 bytes, the key of the user and the plan, each as two digits of base 128. If the plan has windows for
            an organisation, the key of the organisation follows in the same form.
  ARGV[5]   the last settled batch of the instance, as far as its sender knows; 0 for none
  Output    One text without gaps. The caller works out everything else from it, by the same arithmetic:
              'batch:', sequence (6 bytes), and time in milliseconds (6)
              a letter for each charge: '1' (accepted) or '0' (refused). With a key also '2' (accepted as a repetition, not charged),
                '3' (refused, because the key belongs to another body) or '4' (accepted and charged, because it was repeated too often)
              the numbers of each section, as they were when the section was opened, after the refunds. A section of a user is opened by
                each charge. Sections of organisations and of the global scope are opened by the first charge that needs them, and again
                when their shape changes. A charge with further meters or grants opens the sections of its user and organisation
                by itself for each meter, and after each scope those of the grants.
              for each '2' the time of the charge (6 bytes), the length of its receipt (2), and the receipt
              for each of `uses` the tokens that were given back, plus 2^47 (6 bytes)

  If the store does not know the batch of ARGV[5] any more, the script replies with the error 'LOST' and the last batch that it knows. If a
  period does not contain the time of Redis, the script replies with the error 'CALENDAR' and this time in milliseconds, and the caller makes
  the batch anew with the periods around it. In both cases nothing is written.

  A charge that starts no window changes only the used tokens, in place. Neither the other bytes nor the expiry of the key change then, and
  SETRANGE costs a third of SET with an expiry.
]==]
local REPLY = 'batch:'
local sequence = tonumber(ARGV[1])

-- Positions in `values` are those in KEYS. MGET returns nothing for a key of another type.
local values = call('MGET', unpack(KEYS))
for key = 2, #KEYS do
  if values[key] and #values[key] > LONGEST then values[key] = false end
end

-- A batch that was applied already gets the same reply again. A batch that a later one has overtaken is never applied.
local last, applied = values[1], 0
if last and #last >= 18 and sub(last, 1, 6) == REPLY then
  applied = unpack_bytes('>I6', last, 7)
  if applied == sequence then return last end
  if applied > sequence then return redis.error_reply('STALE batch ' .. sequence .. ' comes after ' .. applied) end
end
-- Refunds of charges that were forgotten would take tokens from others.
if applied < tonumber(ARGV[5] or 0) then return redis.error_reply('LOST ' .. applied) end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local batch = cjson.decode(ARGV[3])

-- A calendar window runs if it started in the present period. So instead of a length the shape gets the longest time that it can have
-- run, plus a millisecond. A table that is created with all its fields need not grow. Otherwise shapes are a fifth of the cost of most batches.
for i, shape in ipairs(batch.shapes) do
  local n = #shape - 3
  local from, to, name = shape[n + 1], shape[n + 2], shape[n + 3]
  if to ~= 0 and (now < from or now >= to) then return redis.error_reply('CALENDAR ' .. string.format('%.0f', now)) end
  local lengths = { unpack(shape, 1, n) }
  for k = 1, n do lengths[k] = lengths[k] * 1000 end
  if to ~= 0 then lengths[n] = now - from + 1 end
  local head, is_wide = head_of(name, shape, n)
  local used, all, bytes = numbers_of(n, is_wide)
  batch.shapes[i] = {
    name = name, windows = n, seconds = shape, lengths = lengths, head = head, size = #head,
    used = used, all = all, bytes = bytes,
  }
end

local calendars = batch.periods
for i = 1, calendars and #calendars or 0, 4 do
  local from = calendars[i + 2]
  if now < from or now >= calendars[i + 3] then return redis.error_reply('CALENDAR ' .. string.format('%.0f', now)) end
  batch.shapes[calendars[i]].lengths[calendars[i + 1]] = now - from + 1
end

-- Where the numbers of the section with exactly this head begin.
local function find(bytes, shape)
  local at, head, size = 1, shape.head, shape.size
  while sub(bytes, at, at + size - 1) ~= head do
    at = bounds_at(bytes, at)
    if not at then return nil end
  end
  if at + size + shape.bytes > #bytes + 1 then return nil end
  return at + size
end

-- Settles one charge whose windows all run. It starts and ends nothing, so only the used tokens of each counter change. At everyday
-- rates most batches are of this kind. Here they cost 0.8 of what they cost in charge.lua, and a charge of several meters, whose sections
-- lie apart, costs half. Returns the reply. For any other batch it returns nothing and writes nothing.
local function settle_one(charge)
  local is_one = #charge == 4 or #charge == 6
  if not is_one or batch.refunds or batch.onces or batch.uses or batch.grants then return nil end
  local a, b, c, d, e, f = byte(charge, 1, 6)
  local plan = batch.plans[c * 128 + d]
  -- `writes` has the key, the offset and the tokens of each section.
  local fits, records, writes = true, { '' }, {}

  -- Prepares the reply and the write for a counter. Returns whether all of its windows run.
  local function look(key, shape, limits, cost)
    local bytes = values[key]
    local numbers = bytes and find(bytes, shape)
    if not numbers then return false end
    local section = { unpack_bytes(shape.all, bytes, numbers) }
    local n, first, behind, lengths = shape.windows, section[1], numbers + shape.bytes, shape.lengths
    for i = 1, n do
      local started = i == 1 and first or first + section[i]
      if started > now or now >= started + lengths[i] then return false end
      local used, limit = section[n + i] + cost, limits[i]
      if limit and used > limit then fits = false end
      section[n + i] = used < MOST_TOKENS and used or MOST_TOKENS
    end
    records[#records + 1] = sub(bytes, numbers, behind - 1)
    local tokens, w = pack(shape.used, unpack(section, n + 1, 2 * n)), #writes
    writes[w + 1], writes[w + 2], writes[w + 3] = KEYS[key], behind - #tokens - 1, tokens
    return true
  end

  local shapes, limits, own_key, their_key = batch.shapes, batch.limits, a * 128 + b, e and e * 128 + f
  local is_forced, group, further = plan[PLAN_IS_FORCED] == 1, batch.meters and batch.meters[1], 2
  while plan do
    local mine, theirs, all = shapes[plan[PLAN_OWN_SHAPE]], shapes[plan[PLAN_THEIR_SHAPE]], shapes[plan[PLAN_ALL_SHAPE]]
    local cost = plan[PLAN_COST]
    if not mine or not look(own_key, mine, limits[plan[PLAN_OWN_LIMITS]], cost) then return nil end
    if theirs and not look(their_key, theirs, limits[plan[PLAN_THEIR_LIMITS]], cost) then return nil end
    if all and not look(plan[PLAN_ALL_KEY], all, limits[plan[PLAN_ALL_LIMITS]], cost) then return nil end
    plan, their_key = group and batch.plans[group[further]], group and group[further + 1]
    further = further + 2
  end

  local accepted = fits or is_forced
  records[1] = REPLY .. pack('>I6I6', sequence, now) .. (accepted and '1' or '0')
  local reply = table.concat(records)
  -- As in other batches, a Redis user without the right to SETRANGE must be found before the first write.
  if accepted then call('SETRANGE', KEYS[2], 0, '') end
  call('SET', KEYS[1], reply, 'PX', ARGV[2])
  for i = 1, accepted and #writes or 0, 3 do call('SETRANGE', writes[i], writes[i + 1], writes[i + 2]) end
  return reply
end

local settled = settle_one(ARGV[4])
if settled then return settled end
