--[==[
  Settles the batches that charge-one.lua does not settle itself. charge-one.lua describes the batch and the reply, and has read the keys and
  the batch before this text begins.
]==]
-- Returns for how many seconds the runs of a key's counter are kept: first those of the books and of the longest window of a category, then
-- all others. Returns nothing for a counter without a history.
local rule, kept, anonymous = batch.history, nil, nil
local function keeping(key)
  if not rule then return nil end
  if not kept then
    kept, anonymous = {}, {}
    for number in string.gmatch(rule, '%d+') do kept[#kept + 1] = tonumber(number) end
    for i = 5, #kept do anonymous[kept[i]] = true end
  end
  local prefix, keep, shorter = kept[1], kept[2], kept[3]
  if anonymous[key] then keep, shorter = kept[4], kept[4] end
  if keep == 0 and shorter == 0 or not HISTORIES[sub(KEYS[key], prefix + 1, prefix + 2)] then return nil end
  return keep, shorter
end

-- The functions for histories. They are created when they are first needed.
local functions
local function archive()
  functions = functions or history_functions()
  return functions
end

local function place_of(key) return archive().key(KEYS[key], kept[1]) end

-- The histories of counters after this batch. Each is read when it is first needed.
local histories = {}
local function history_of(key)
  local known = histories[key] or archive().read(place_of(key))
  histories[key] = known
  return known
end

-- The value with a section of this shape in front, in which windows that do not run count as over. Running windows of the category
-- that the shape does not contain get a section each. A start in the far future is moved closer, so that distances fit.
local function with_section(bytes, shape)
  local starts, used, rest, latest = {}, {}, {}, now + 2 ^ (8 * DISTANCE_SIZE - 2)
  for next_at, name, windows, numbers, is_wide, at in section_at, bytes, 1 do
    if name ~= shape.name then
      rest[#rest + 1] = sub(bytes, at, next_at - 1)
    else
      for i = 1, windows do
        local seconds, started, tokens = window_at(bytes, windows, numbers, i, is_wide)
        if now < started + seconds * 1000 and not starts[seconds] then
          starts[seconds], used[seconds] = started, tokens
        end
      end
    end
  end
  local list, n = {}, shape.windows
  for i = 1, n do
    local seconds = shape.seconds[i]
    list[i], list[n + i] = math.min(starts[seconds] or now - shape.lengths[i], latest), used[seconds] or 0
    starts[seconds] = nil
  end
  for seconds, started in pairs(starts) do
    rest[#rest + 1] = section_of(shape.name, { { seconds, started, used[seconds] } })
  end
  return shape.head .. packed(shape.all, n, list) .. table.concat(rest)
end

-- A table with room for n numbers, because growing one costs time.
local function zeros(n) return { byte(rep('\0', n), 1, n) } end

-- What is written to each key. If `whole` has the key, its whole value is written. Otherwise `written` has the used tokens of a section that
-- change in place, and `before` the position after them; both have 0 for none. `further` has the tokens of other sections of the value that
-- change in place, by the position after them; nil if there are none.
local whole, written, before, further = {}, zeros(#KEYS), zeros(#KEYS), nil
local records, recorded = zeros(#KEYS), 1

-- `found` has counters as they were before the first start in them was replaced. `rewritten` says which histories changed by refunds.
local found, rewritten = {}, {}

-- Gives an amount back to exactly those runs that were charged. An amount below 0 is charged there. A run that is over stays in
-- the counter until the next one starts, and is then in the history.
local function give_back(refund)
  local key, category, amount = refund[1], refund[2], refund[3]
  local bytes, given = values[key] or '', {}
  local keep = keeping(key)
  -- No section changes its place meanwhile.
  for _, name, windows, numbers, is_wide in section_at, bytes, 1 do
    for i = 1, name == category and windows or 0 do
      local seconds, started, used = window_at(bytes, windows, numbers, i, is_wide)
      for r = 4, #refund, 2 do
        if seconds == refund[r] and started == refund[r + 1] and (keep or now < started + seconds * 1000) then
          given[r] = true
          local place = tokens_at(windows, numbers, i, is_wide)
          local left = pack('>' .. TOKENS_FORMAT, math.min(MOST_TOKENS, math.max(0, used - amount)))
          bytes = sub(bytes, 1, place - 1) .. left .. sub(bytes, place + TOKENS_SIZE)
          values[key], whole[key] = bytes, true
        end
      end
    end
  end
  for r = 4, keep and #refund or 0, 2 do
    local before = not given[r] and refund[r + 1] > 0 and history_of(key)
    if before then
      histories[key] = archive().with_less(before, category, refund[r], refund[r + 1], amount)
      rewritten[key] = rewritten[key] or histories[key] ~= before
    end
  end
end

-- An open section: the starts of its windows, then their used tokens, all 0 for a window that has ended, then the
-- position after the section. Further fields begin at SHAPE. LIMITS are those for which ROOM is valid. ROOM is how many
-- tokens fit under all limits, so that a charge is one comparison. ADDED is the tokens accepted since the section was
-- opened, or false. All users share one table, because the script would spend a fifth of its time on garbage with one
-- each.
local SHAPE, BYTES, LIMITS, ROOM, ADDED = 18, 19, 20, 21, 22
-- Written out, which takes half the time of `zeros`. Each organisation gets its own table.
local function blank() return { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } end

-- Writes used tokens that end before a position into the value itself.
local function splice(key, tokens, behind)
  local bytes = values[key]
  values[key] = sub(bytes, 1, behind - #tokens - 1) .. tokens .. sub(bytes, behind)
end

-- Does the same for all sections of a value that changed in place. No section moves, because its size stays the same.
local function splice_all(key)
  splice(key, written[key], before[key])
  local others = further and further[key]
  if not others then return end
  for behind, tokens in pairs(others) do splice(key, tokens, behind) end
end

-- All changes in place of a value as one range with its offset, so that one command writes them.
local function span_of(key)
  local from, to = before[key] - #written[key], before[key]
  for behind, tokens in pairs(further[key]) do
    from, to = math.min(from, behind - #tokens), math.max(to, behind)
  end
  splice_all(key)
  return sub(values[key], from, to - 1), from - 1
end

local function open(section, key, shape)
  if written[key] ~= 0 then splice_all(key) end
  local bytes = values[key]
  local numbers = bytes and find(bytes, shape)
  if not numbers then
    bytes, numbers = with_section(bytes or '', shape), shape.size + 1
  end
  recorded = recorded + 1
  records[recorded] = sub(bytes, numbers, numbers + shape.bytes - 1)
  -- Assigning nothing to a slot costs as much as a value does.
  if shape.windows <= 3 then
    section[1], section[2], section[3], section[4], section[5], section[6], section[7] =
      unpack_bytes(shape.all, bytes, numbers)
  else
    section[1], section[2], section[3], section[4], section[5], section[6], section[7], section[8], section[9],
    section[10], section[11], section[12], section[13], section[14], section[15], section[16], section[17] =
      unpack_bytes(shape.all, bytes, numbers)
  end
  local first = section[1]
  for i = 2, shape.windows do section[i] = first + section[i] end
  section[SHAPE], section[BYTES], section[LIMITS], section[ADDED] = shape, bytes, false, false
end

-- Writes an open section as it is, without windows that do not run. A window that is over by the present clock would run again if this
-- clock was set back once more.
local function keep_running(section, key)
  if written[key] ~= 0 and section[BYTES] == values[key] then
    splice_all(key)
    section[BYTES] = values[key]
  end
  local shape, bytes, running = section[SHAPE], section[BYTES], {}
  local n = shape.windows
  local behind = section[2 * n + 1]
  for i = 1, n do
    if section[i] ~= 0 then running[#running + 1] = { shape.seconds[i], section[i], section[n + i] } end
  end
  local front = sub(bytes, 1, behind - shape.bytes - shape.size - 1)
  found[key] = found[key] or values[key]
  values[key] = front .. section_of(shape.name, running) .. sub(bytes, behind)
  whole[key], written[key] = true, 0
  if further then further[key] = nil end
end

-- A start in the future was made while the clock was ahead. It counts as now, even if the charge is refused. Otherwise the
-- window would always have its whole length left, and would never end.
local function measure(section, key, limits)
  local shape, room, ahead = section[SHAPE], huge, false
  local n, lengths = shape.windows, shape.lengths
  for i = 1, n do
    local left = limits[i] or huge
    if now < section[i] + lengths[i] then
      left = left - section[n + i]
      if section[i] > now then
        section[i], ahead = now, true
      end
    else
      section[i], section[n + i] = 0, 0
    end
    if left < room then room = left end
  end
  if ahead then keep_running(section, key) end
  section[LIMITS], section[ROOM] = limits, room - (section[ADDED] or 0)
end

-- Charges the windows of an open section, and starts those that are not running.
local function put(section, key, added)
  local shape, bytes = section[SHAPE], section[BYTES]
  local n = shape.windows
  local behind, replaced = section[2 * n + 1], bytes ~= values[key]
  for i = 1, n do
    if section[i] == 0 then
      section[i], replaced = now, true
    end
    local used = section[n + i] + added
    section[n + i] = used < MOST_TOKENS and used or MOST_TOKENS
  end
  if not replaced and not whole[key] then
    if written[key] ~= 0 and before[key] ~= behind then
      further = further or {}
      further[key] = further[key] or {}
      further[key][before[key]], further[key][behind] = written[key], nil
    end
    written[key], before[key] = pack(shape.used, unpack(section, n + 1, 2 * n)), behind
    return
  end
  if written[key] ~= 0 and bytes == values[key] then
    splice_all(key)
    bytes = values[key]
  end
  if replaced then found[key] = found[key] or values[key] end
  values[key] = sub(bytes, 1, behind - shape.bytes - 1) .. packed(shape.all, n, section) .. sub(bytes, behind)
  whole[key], written[key] = true, 0
  if further then further[key] = nil end
end

-- Does the same, but only for the windows from `first` on.
local function put_from(first, section, key, added)
  local n = section[SHAPE].windows
  for i = first, n do
    if section[i] == 0 then section[i] = now end
    section[n + i] = math.min(MOST_TOKENS, section[n + i] + added)
  end
  if first <= n then keep_running(section, key) end
end

-- By key, the sections that several charges share: those of organisations and of the global scope. Each is open in one
-- shape at a time.
local shared = {}

local function share(key, shape)
  local section = shared[key]
  if not section then
    section = blank()
    shared[key] = section
  elseif section[ADDED] then
    put(section, key, section[ADDED])
  end
  open(section, key, shape)
  return section
end

-- A user without a counter may have been forgotten while windows ran. Only a charge moves these windows back to the name of the user.
local returning
local function welcome_back()
  local prefix, place_of_forgotten
  for key = 2, #KEYS do
    prefix = prefix or not values[key] and prefix_of(KEYS[key])
    if not values[key] and sub(KEYS[key], #prefix + 1, #prefix + 2) == 'c:' then
      place_of_forgotten = place_of_forgotten or forgotten_places(prefix)
      local place = place_of_forgotten(sub(KEYS[key], #prefix + 3))
      if not place then return end
      local left = call('MGET', place)[1]
      local bytes = left and tidy(sub(left, 7), now) or ''
      if bytes ~= '' then
        returning = returning or {}
        returning[key] = { place = place, since = sub(left, 1, 6) }
        values[key], whole[key] = bytes, true
      end
    end
  end
end
welcome_back()

local keyed = (batch.onces or batch.uses) and once_functions(values, now)
-- Adds the starts of an open section after a charge at `now`; 0 for windows before `first`, which are not charged.
local function starts_of(section, shape, starts, first)
  for i = 1, shape and shape.windows or 0 do
    starts[#starts + 1] = first and i < first and 0 or section[i] == 0 and now or section[i]
  end
end

local made = {}
for i, use in ipairs(batch.uses or {}) do
  local amount = keyed.report(use)
  made[i] = pack('>I6', amount + 2 ^ 47)
  for n = use[8], use[9] do batch.refunds[n][3] = amount end
end
for _, refund in ipairs(batch.refunds or {}) do
  if refund[3] ~= 0 then give_back(refund) end
end

local shapes, limits = batch.shapes, batch.limits
for _, plan in ipairs(batch.plans) do
  plan[PLAN_OWN_SHAPE], plan[PLAN_OWN_LIMITS] = shapes[plan[PLAN_OWN_SHAPE]], limits[plan[PLAN_OWN_LIMITS]]
  plan[PLAN_ALL_SHAPE], plan[PLAN_ALL_LIMITS] = shapes[plan[PLAN_ALL_SHAPE]], limits[plan[PLAN_ALL_LIMITS]]
  plan[PLAN_THEIR_SHAPE], plan[PLAN_THEIR_LIMITS] = shapes[plan[PLAN_THEIR_SHAPE]], limits[plan[PLAN_THEIR_LIMITS]]
end
local onces, paid = nil, {}
for _, once in ipairs(batch.onces or {}) do
  onces = onces or {}
  onces[once[1]] = once
end
local groups = batch.meters and {}
for _, group in ipairs(batch.meters or {}) do groups[group[1]] = group end
for _, grant in ipairs(batch.grants or {}) do
  local group = groups[grant[1]]
  group.grants = group.grants or {}
  table.insert(group.grants, grant)
end

-- Functions for charges of several meters, created only if the batch has one. `open` opens all sections of such a charge and says whether
-- they all have room. `put` charges the sections. `costs` says what is remembered of them under an idempotency key.
local function group_functions()
  -- The sections of a charge, their keys (0 for shared ones), limits and costs, their number, and whether all have room. The tables, and
  -- sections that are not shared, are reused for each charge.
  local opened, keys_of, limits_of, costs_of, pool, many, have_room = {}, {}, {}, {}, {}, 0, true
  -- For each section the first window that is charged. If none is charged, it is one more than the number of its windows.
  local firsts_of = {}

  local function open_alone(key, shape, of, cost, first)
    many = many + 1
    local section = pool[many] or blank()
    open(section, key, shape)
    measure(section, key, of)
    pool[many], opened[many], keys_of[many], limits_of[many], costs_of[many] = section, section, key, of, cost
    firsts_of[many] = first
    return cost <= section[ROOM]
  end

  -- Several sections of a user or an organisation may be under one key, so each is opened by itself, even if others share it.
  -- @param grants of the charge, or nothing. Those of this meter and scope are opened after the windows
  local function open_own(key, shape, of, cost, grants, meter, scope)
    local common = shared[key]
    if common then
      if common[ADDED] then put(common, key, common[ADDED]) end
      shared[key] = nil
    end
    local fits = open_alone(key, shape, of, cost, 1)
    local windows = many
    for g = 1, grants and #grants or 0 do
      local grant = grants[g]
      if grant[2] == meter and grant[3] == scope then
        local has_room = open_alone(key, shapes[grant[4]], { grant[6] }, cost, 2)
        if not fits and has_room and now < grant[5] then
          fits, firsts_of[many] = true, 1
          firsts_of[windows] = shape.seconds[shape.windows] == BOOK and shape.windows or shape.windows + 1
        end
      end
    end
    have_room = have_room and fits
  end

  -- Opens the sections of one meter. That of the global scope is shared, since each category has a key of its own.
  local function open_meter(key, plan, their_key, grants, meter)
    local cost, mine, theirs, all = plan[PLAN_COST], plan[PLAN_OWN_SHAPE], plan[PLAN_THEIR_SHAPE], plan[PLAN_ALL_SHAPE]
    if mine then
      if returning and returning[key] then returning[key].is_back = true end
      open_own(key, mine, plan[PLAN_OWN_LIMITS], cost, grants, meter, 1)
    end
    if theirs then open_own(their_key, theirs, plan[PLAN_THEIR_LIMITS], cost, grants, meter, 2) end
    if not all then return end
    local all_key, of = plan[PLAN_ALL_KEY], plan[PLAN_ALL_LIMITS]
    local everybody = shared[all_key]
    if not everybody or everybody[SHAPE] ~= all then everybody = share(all_key, all) end
    if everybody[LIMITS] ~= of then measure(everybody, all_key, of) end
    have_room = have_room and cost <= everybody[ROOM]
    many = many + 1
    opened[many], keys_of[many], costs_of[many], firsts_of[many] = everybody, 0, cost, 1
  end

  local function open_group(key, plan, their_key, group)
    many, have_room = 0, true
    open_meter(key, plan, their_key, group.grants, 1)
    for i = 2, #group, 2 do open_meter(key, batch.plans[group[i]], group[i + 1], group.grants, i / 2 + 1) end
    return have_room
  end

  -- Adds the starts, and returns the cost of each meter.
  local function group_costs(plan, group, starts)
    local costs = { plan[PLAN_COST] }
    for i = 2, #group, 2 do costs[#costs + 1] = batch.plans[group[i]][PLAN_COST] end
    for i = 1, many do starts_of(opened[i], opened[i][SHAPE], starts, firsts_of[i]) end
    return costs
  end

  -- Whether an earlier section is under the same key.
  local function is_further(at)
    for i = 1, at - 1 do
      if keys_of[i] == keys_of[at] then return true end
    end
    return false
  end

  -- A shared section is written once for all its charges. Other sections may lie under one key, and each usually changes in place. If the
  -- first one moves what later ones have read, these are read again, without a trace in the reply.
  local function put_group()
    for i = 1, many do
      local section, key, cost = opened[i], keys_of[i], costs_of[i]
      if key == 0 then
        section[ROOM], section[ADDED] = section[ROOM] - cost, (section[ADDED] or 0) + cost
      else
        if section[BYTES] ~= values[key] and is_further(i) then
          open(section, key, section[SHAPE])
          recorded = recorded - 1
          measure(section, key, limits_of[i])
        end
        if firsts_of[i] == 1 then put(section, key, cost) else put_from(firsts_of[i], section, key, cost) end
      end
    end
  end

  return { open = open_group, put = put_group, costs = group_costs }
end
local meters = groups and group_functions()

local charges, plans, refused, n, at = ARGV[4], batch.plans, nil, 0, 1
local own = blank()
while at < #charges do
  local a, b, c, d = byte(charges, at, at + 3)
  n, at = n + 1, at + 4
  local key, plan = a * 128 + b, plans[c * 128 + d]
  local cost, mine, theirs, all = plan[PLAN_COST], plan[PLAN_OWN_SHAPE], plan[PLAN_THEIR_SHAPE], plan[PLAN_ALL_SHAPE]
  local organisation, everybody, fits = nil, nil, true
  local group = groups and groups[n]
  if group then
    local their_key = 0
    if theirs then
      local e, f = byte(charges, at, at + 1)
      their_key, at = e * 128 + f, at + 2
    end
    fits, mine, theirs, all = meters.open(key, plan, their_key, group), nil, nil, nil
  end
  if mine then
    if returning and returning[key] then returning[key].is_back = true end
    open(own, key, mine)
    measure(own, key, plan[PLAN_OWN_LIMITS])
    fits = cost <= own[ROOM]
  end
  if theirs then
    local e, f = byte(charges, at, at + 1)
    local their_key = e * 128 + f
    at, organisation = at + 2, shared[their_key]
    if not organisation or organisation[SHAPE] ~= theirs then organisation = share(their_key, theirs) end
    if organisation[LIMITS] ~= plan[PLAN_THEIR_LIMITS] then measure(organisation, their_key, plan[PLAN_THEIR_LIMITS]) end
    fits = fits and cost <= organisation[ROOM]
  end
  if all then
    local all_key = plan[PLAN_ALL_KEY]
    everybody = shared[all_key]
    if not everybody or everybody[SHAPE] ~= all then everybody = share(all_key, all) end
    if everybody[LIMITS] ~= plan[PLAN_ALL_LIMITS] then measure(everybody, all_key, plan[PLAN_ALL_LIMITS]) end
    fits = fits and cost <= everybody[ROOM]
  end
  local once, letter, payer = onces and onces[n], nil, nil
  if once then letter, payer = keyed.judge(once, once[8] == 1 and 0 or group and (#group + 1) / 2 or 1) end
  if letter then
    refused = refused or {}
    refused[n] = letter
    paid[#paid + 1] = payer
  elseif fits or plan[PLAN_IS_FORCED] == 1 then
    if once then
      if payer then
        local starts = {}
        starts_of(own, mine, starts)
        starts_of(organisation, theirs, starts)
        starts_of(everybody, all, starts)
        local costs = group and meters.costs(plan, group, starts) or { cost }
        keyed.remember(once, costs, starts)
      else
        refused = refused or {}
        refused[n] = '4'
      end
    end
    if group then meters.put() end
    if mine then put(own, key, cost) end
    if theirs then
      organisation[ROOM], organisation[ADDED] = organisation[ROOM] - cost, (organisation[ADDED] or 0) + cost
    end
    if all then everybody[ROOM], everybody[ADDED] = everybody[ROOM] - cost, (everybody[ADDED] or 0) + cost end
  else
    refused = refused or {}
    refused[n] = '0'
  end
end
for key, section in pairs(shared) do
  if section[ADDED] then put(section, key, section[ADDED]) end
end

for _, list in ipairs({ paid, made }) do
  for i = 1, #list do
    recorded = recorded + 1
    records[recorded] = list[i]
  end
end
local verdicts = rep('1', n)
if refused then
  for i = 1, n do refused[i] = refused[i] or '1' end
  verdicts = table.concat(refused)
end
records[1] = REPLY .. pack('>I6I6', sequence, now) .. verdicts
local reply = table.concat(records, '', 1, recorded)

-- A counter is kept as long as its last run is, because until then the run is nowhere else.
local ends, ended_at = {}, {}
for key in pairs(whole) do
  local bytes = values[key]
  values[key], ends[key] = tidy(bytes, now)
  local keep, shorter = keeping(key)
  if keep then
    ends[key] = math.max(ends[key], now) + 1000 * math.max(keep, shorter)
    -- Nothing has ended if no start was replaced and no section was left out.
    local former = found[key] or #values[key] < #bytes and bytes
    local ended = former and archive().ended_runs(former, values[key], now, keep, shorter)
    if ended then histories[key], ended_at[key] = archive().with_runs(history_of(key), ended, now, math.max(keep, shorter)), ends[key] end
  end
end

-- A Redis user with the right to SET but not to SETRANGE must be found now. If only the reply was written, the batch
-- would count as applied when it is sent again. This command changes nothing, because the key has a value.
for key = 2, #KEYS do
  if written[key] ~= 0 then
    call('SETRANGE', KEYS[key], 0, '')
    break
  end
end

-- From here on the script only writes. Every key expires by itself. A counter ends with its last window, or when that window's run need
-- not be kept any more.
call('SET', KEYS[1], reply, 'PX', ARGV[2])
for key in pairs(whole) do
  local left = returning and returning[key]
  if left then call('SET', left.place, left.since .. (left.is_back and '' or values[key]), 'KEEPTTL') end
  if not left or left.is_back then call('SET', KEYS[key], values[key], 'PXAT', string.format('%.0f', ends[key])) end
end
for key, bytes in pairs(histories) do
  local place = place_of(key)
  if ended_at[key] then
    call('SET', place, bytes, 'PXAT', string.format('%.0f', ended_at[key]))
  elseif rewritten[key] then
    call('SET', place, bytes, 'KEEPTTL')
  end
end
if keyed then keyed.write(KEYS) end
local offsets = {}
for key = 2, #KEYS do
  local tokens = written[key]
  if tokens ~= 0 then
    local at = before[key] - #tokens - 1
    if further and further[key] then tokens, at = span_of(key) end
    local offset = offsets[at] or string.format('%.0f', at)
    offsets[at] = offset
    call('SETRANGE', KEYS[key], offset, tokens)
  end
end

return reply
