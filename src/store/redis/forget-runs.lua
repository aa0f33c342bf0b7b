--[==[
  Takes the runs of some owners away that need not be kept any more. It follows common.lua, form/section.lua, form/windows.lua and history.lua.

  KEYS  the counters of each owner, and behind it his history
  ARGV  for each owner for how many seconds his runs are kept after their end
]==]
local archive = history_functions()

for i, kept in ipairs(ARGV) do
  local counters, place, keep = KEYS[2 * i - 1], KEYS[2 * i], tonumber(kept)
  local bytes, before = call('MGET', counters)[1], archive.read(place)
  local left = archive.with_runs(before, {}, now, keep)
  if left == '' and before ~= '' then
    call('DEL', place)
  elseif left ~= before then
    call('SET', place, left, 'KEEPTTL')
  end
  if bytes and #bytes <= LONGEST then
    local lasts = select(2, tidy(bytes, 0)) + 1000 * keep - now
    for _, key in ipairs({ counters, place }) do
      if call('PTTL', key) > lasts then call('PEXPIRE', key, string.format('%.0f', lasts)) end
    end
  end
end
