--[==[
  What is remembered of charges by a key, for charge-one.lua and charge.lua, which this text goes before.

  What lies under the key of a charge is its time (6 bytes), repetitions and uses (1 each), the least tokens that one of the uses
  gave back, at first the cost (6), and the hash of the body; big-endian.
]==]
-- Made for batches that have such a charge.
-- @param values  what lies under each key of the batch
local function once_functions(values, now)
  -- As tables, `false` for nothing; `forgotten` where it is to be written.
  local known = {}

  local function remembered(key)
    local bytes = values[key]
    if known[key] == nil then
      known[key] = false
      if bytes and #bytes > 14 then
        local since, replays, uses, least = unpack_bytes('>I6BBI6', bytes)
        known[key] = { since = since, replays = replays, uses = uses, least = least, body = sub(bytes, 15) }
      end
    end
    return known[key]
  end

  -- The letter of a charge that its key decides; nothing for one that is charged, and remembered with `true` behind it.
  local function judge(once)
    local key, body, lasts, replays, forgotten = once[2], once[3], once[4], once[5], once[6]
    local charged = remembered(key)
    if not charged or now >= charged.since + lasts then return nil, true end
    if charged.body ~= body then return '3' end
    if charged.replays >= replays then return nil, false end
    charged.replays, charged.uses = charged.replays + 1, charged.uses + 1
    charged.forgotten = charged.since + forgotten
    return '2', charged.since
  end

  -- Gives one use back. Returns the tokens of the charge that are given back: none as long as there are other uses.
  local function release(use, amount)
    local key, first, since, forgotten = use[1], use[2], use[3], use[4]
    local charged = remembered(key)
    if not charged or charged.since ~= since then return first == 1 and amount or 0 end
    charged.least = math.min(charged.least, amount)
    charged.uses, charged.forgotten = charged.uses - 1, since + forgotten
    if charged.uses > 0 then return 0 end
    known[key] = false
    return charged.least
  end

  -- The charge of now.
  local function remember(once, cost)
    known[once[2]] = { since = now, replays = 0, uses = 1, least = cost, body = once[3], forgotten = now + once[6] }
  end

  local function write(names)
    for key, charged in pairs(known) do
      if not charged then
        -- As good as DEL, and whoever may write the rest may do it.
        if values[key] then call('SET', names[key], '', 'PX', 1) end
      elseif charged.forgotten then
        local value = pack('>I6BBI6', charged.since, charged.replays, charged.uses, charged.least) .. charged.body
        call('SET', names[key], value, 'PXAT', string.format('%.0f', charged.forgotten))
      end
    end
  end

  return { judge = judge, release = release, remember = remember, write = write }
end
