import { GRANT_MUTATIONS } from './grant-mutations.ts'
import { METER_MUTATIONS } from './meter-mutations.ts'
import { type Mutation, noticed, noticedIn } from './mutation.ts'
import { SETTLED_MUTATIONS } from './settled-mutations.ts'
import { USAGE_MUTATIONS } from './usage-mutations.ts'

const LUA = 'src/store/redis/charge.lua'
const ONE_LUA = 'src/store/redis/charge-one.lua'
const ONCE_LUA = 'src/store/redis/once.lua'
const SECTION_LUA = 'src/store/redis/form/section.lua'
const WINDOWS = 'src/store/redis/form/windows.lua'
const HISTORY_LUA = 'src/store/redis/history.lua'
const HISTORY = 'src/quota/history.ts'
const PACKED = 'src/store/packed-history.ts'
const CONTROL = 'src/store/redis/control.lua'
const LEDGER = 'src/quota/ledger/ledger.ts'
const SETTLEMENT = 'src/quota/ledger/settlement.ts'
const REFUNDS = 'src/quota/ledger/refunds.ts'
const PAYMENT = 'src/quota/ledger/debt-payment.ts'
const QUEUE = 'src/quota/ledger/queue.ts'
const LOCAL = 'src/quota/ledger/local-decisions.ts'
const SENDER = 'src/quota/ledger/sender.ts'
const ALLOWANCE = 'src/quota/ledger/outage-allowance.ts'
const DEBTS = 'src/quota/ledger/outage-debts.ts'
const OUTAGE = 'src/quota/ledger/outage.ts'
const DEBT = 'src/quota/ledger/debt.ts'
const RUNS = 'src/quota/ledger/debt-runs.ts'
const CHARGE = 'src/quota/charge.ts'
const SCOPES = 'src/quota/charged-scopes.ts'
const RECEIPT = 'src/quota/receipt.ts'
const ARITHMETIC = 'src/quota/arithmetic.ts'
const ONCE = 'src/quota/once.ts'
const COUNTER = 'src/quota/counter.ts'
const WINDOW = 'src/quota/window.ts'
const CALENDAR = 'src/quota/calendar.ts'
const PERIOD_DAYS = 'src/quota/period-days.ts'
const STORE_CLOCK = 'src/store/redis/store-clock.ts'
const POLICY = 'src/quota/policy.ts'
const OVERRIDES = 'src/quota/override-limits.ts'
const LAYERS = 'src/quota/limit-layers.ts'
const RESPONSE_COST = 'src/gateway/response-cost.ts'
const RESPONSE_TEXT = 'src/gateway/response-text.ts'
const FINAL_COST = 'src/routing/final-cost.ts'
const EXEMPTION = 'src/gateway/exemption.ts'
const BATCH = 'src/store/redis/charge-batch.ts'
const BATCH_TEXT = 'src/store/redis/batch-text.ts'
const REPLY = 'src/store/redis/charge-reply.ts'
const ENCODER = 'src/store/redis/charge-encoder.ts'
const REDIS = 'src/store/redis/redis-store.ts'
const ERRORS = 'src/store/redis/store-errors.ts'
const SQLITE = 'src/store/sqlite'
const REPLICAS = 'src/store/presence-record.ts'

const byLedger = noticed('ledger')
const bySimulation = noticed('simulation')
const byCost = noticed('cost')
const byModel = noticed('model')
const bySqlite = noticed('sqlite')
const bySimulationAndLedger = noticed('simulation', 'ledger')
const byClock = noticed('clock')
const byRedisHistory = noticed('redis history')
const byHistory = noticed('history')
const lua = noticedIn(LUA, 'simulation', 'redis')
const oneLua = noticedIn(ONE_LUA, 'one charge', 'simulation', 'redis')
const encoder = noticedIn(ENCODER, 'one charge')
const onceLua = noticedIn(ONCE_LUA, 'simulation', 'redis')
const ledger = noticedIn(LEDGER, 'simulation', 'ledger')
const settlement = noticedIn(SETTLEMENT, 'simulation', 'ledger')
const plans = noticed('plans')
const shared = noticed('arithmetic', 'sqlite', 'simulation')
const form = noticedIn(LUA, 'model')
const sqlite = (file: string, ...change: Parameters<ReturnType<typeof noticedIn>>): Mutation =>
  bySqlite(`${SQLITE}/${file}`, ...change)

export const MUTATIONS: readonly Mutation[] = [
  // The script: exactly once.
  oneLua('the script drops the check of the sequence', ['sub(last, 1, 6) == REPLY then', 'false then']),
  oneLua('the script answers a repeated batch anew', ['if applied == sequence then return last end', '']),
  oneLua('the script applies an overtaken batch', ['if applied > sequence then return', 'if false then return']),
  oneLua('the script refuses a repeated batch', [
    'if applied == sequence then return last end\n  if applied >',
    'if applied >=',
  ]),
  lua('the script forgets its last reply at once', ["reply, 'PX', ARGV[2])", "reply, 'PX', 1)"]),
  oneLua('the script takes what is given back of charges that it has forgotten', [
    'if applied < tonumber(ARGV[5] or 0) then',
    'if false then',
  ]),
  lua('the script does not remember its last reply', ["call('SET', KEYS[1], reply, 'PX', ARGV[2])", '']),
  {
    name: 'the clock of the caller decides',
    edits: [
      {
        file: ONE_LUA,
        from: "local time = redis.call('TIME')",
        to: 'local time = { math.floor(ARGV[6] / 1000), ARGV[6] % 1000 * 1000 }',
      },
      { file: REDIS, from: 'String(after)]', to: 'String(after), String(Date.now())]' },
    ],
    noticedBy: ['simulation'],
  },
  oneLua('the script does not remember its reply to one charge', ["call('SET', KEYS[1], reply, 'PX', ARGV[2])", '']),
  // The script: the arithmetic.
  lua('the script charges before it checks', ["refused[n] = '0'", "put(own, key, cost) refused[n] = '0'"]),
  lua('the script charges a user what the global scope refuses', [
    "refused[n] = '0'",
    "if cost <= own[ROOM] then put(own, key, cost) end refused[n] = '0'",
  ]),
  lua('in the script a window ends a millisecond late', [
    'if now < section[i] + lengths[i] then',
    'if now <= section[i] + lengths[i] then',
  ]),
  lua('in the script a window ends a millisecond early', [
    'if now < section[i] + lengths[i] then',
    'if now < section[i] + lengths[i] - 1 then',
  ]),
  lua('the script forgets to check the global scope', ['fits = fits and cost <= everybody[ROOM]', '']),
  lua('the script forgets to charge the global scope', [
    'if section[ADDED] then put(section, key, section[ADDED]) end',
    '',
  ]),
  lua('the script forgets to check the organisation', ['fits = fits and cost <= organisation[ROOM]', '']),
  lua('the script forgets to charge the organisation', ['(organisation[ADDED] or 0) + cost', 'false']),
  lua('the script leaves an open section for another category without its charges', [
    'elseif section[ADDED] then\n    put(section, key, section[ADDED])',
    '',
  ]),
  lua('the script does not count within a batch for the global scope', ['room - (section[ADDED] or 0)', 'room']),
  lua('the script forgets what it charged earlier in the batch', [
    'if written[key] ~= 0 then splice_all(key) end\n  local bytes',
    'local bytes',
  ]),
  lua('the script checks only the first window', [
    'for i = 1, n do\n    local left = limits[i]',
    'for i = 1, 1 do\n    local left = limits[i]',
  ]),
  lua('the script charges only the first window', [
    'for i = 1, n do\n    if section[i] == 0 then',
    'for i = 1, 1 do\n    if section[i] == 0 then',
  ]),
  lua('the script never lets a limit be reached', ['    fits = cost <= own[ROOM]', '    fits = cost < own[ROOM]']),
  lua('the script lets one too many pass', ['    fits = cost <= own[ROOM]', '    fits = cost <= own[ROOM] + 1']),
  lua('the script keeps what was used in an ended window', ['section[i], section[n + i] = 0, 0', 'section[i] = 0']),
  lua('the script gives back to the wrong run of a window', [' and started == refund[r + 1]', '']),
  lua('the script gives back twice', ['math.max(0, used - amount)', 'math.max(0, used - 2 * amount)']),
  lua('the script charges nothing in addition', ['math.max(0, used - amount)', 'math.max(0, used - math.abs(amount))']),
  lua('the script does not write what it gave back', [
    '.. sub(bytes, place + TOKENS_SIZE)\n          values[key], whole[key] = bytes, true',
    '.. sub(bytes, place + TOKENS_SIZE)\n          values[key] = bytes',
  ]),
  lua('the script refuses forced charges above the limit', [
    'if fits or plan[PLAN_IS_FORCED] == 1 then',
    'if fits then',
  ]),
  bySimulation(WINDOWS, 'the script lets a counter end with its first window', [
    'ends = math.max(ends, over)',
    'ends = ends == 0 and over or math.min(ends, over)',
  ]),
  noticed('simulation', 'redis')(WINDOWS, 'the script takes hours for seconds', [
    'HOUR * byte(bytes, numbers',
    'byte(bytes, numbers',
  ]),
  byModel(SECTION_LUA, 'the script writes a wide section and does not say so', [
    'char(head, byte(name) + WIDE_MARK)',
    'char(head, byte(name))',
  ]),
  byModel(WINDOWS, 'the script does not know a category whose section is wide', [
    'char(byte(name) - WIDE_MARK)',
    'char(byte(name))',
  ]),
  noticed('reset')(WINDOWS, 'the script cuts a start off that is far from the first one', [
    'is_far = true',
    'is_far = false',
  ]),
  form('the script takes the distance of a window for its start', ['section[i] = first + section[i]', 'break']),
  form('the script writes a window that has not started as one that runs', [
    'or now - shape.lengths[i], latest',
    'or now, latest',
  ]),
  byModel(WINDOWS, 'the script gives back to the wrong window of a section', [
    'TOKENS_SIZE * (i - 1)',
    'TOKENS_SIZE * (windows - i)',
  ]),
  form('the script forgets what a wide section holds', [
    'starts[seconds], used[seconds] = started, tokens',
    'if not is_wide then starts[seconds], used[seconds] = started, tokens end',
  ]),
  lua('the script writes tokens to the wrong place', [
    'local at = before[key] - #tokens - 1',
    'local at = before[key] - #tokens',
  ]),
  // One charge whose windows all run.
  oneLua('the script settles one charge in a window that is over', [
    'started > now or now >= ',
    'started > now or now > ',
  ]),
  oneLua('the script settles one charge in a window that starts in the future', ['started > now or ', '']),
  oneLua('the script settles two charges as one', ['#charge == 4 or #charge == 6', '#charge >= 4']),
  oneLua('the script settles one charge and forgets the refunds beside it', ['batch.refunds or ', '']),
  oneLua('the script settles one charge and forgets its key', ['batch.onces or ', '']),
  oneLua('the script refuses one charge that reaches the limit', ['limit and used > limit', 'limit and used >= limit']),
  oneLua('the script lets one charge pass the limit', ['limit and used > limit', 'limit and used > limit + 1']),
  oneLua('the script lets one charge pass the limits of its first windows', [
    'then fits = false end',
    'then fits = i < n end',
  ]),
  oneLua('the script forgets the limits of the organisation for one charge', ['if theirs and not', 'if false and not']),
  oneLua('the script forgets the limits of everybody for one charge', ['if all and not', 'if false and not']),
  oneLua('the script writes the tokens of one charge to the wrong place', ['behind - #tokens - 1', 'behind - #tokens']),
  oneLua('the script charges one charge that it refuses', [
    'for i = 1, accepted and #writes or 0, 3',
    'for i = 1, #writes, 3',
  ]),
  oneLua('the script refuses one forced charge above the limit', ['fits or is_forced', 'fits']),
  oneLua('the script takes the distance of a window for its start in one charge', [
    'first or first + section[i]',
    'first or section[i]',
  ]),
  encoder('a charge is encoded as one of another cost', ['each.cost === cost &&', '']),
  encoder('a charge is encoded as one of another category', ['each.category === category &&', '']),
  encoder('a charge is encoded as one of another organisation or none', ['each.hasTheirs === hasTheirs &&', '']),
  encoder('a charge is encoded by a retention that is over', ['each.retention === retention &&', '']),
  encoder('a charge of an address is encoded as one of a user', ['each.isAnonymous === isAnonymous', 'true']),
  encoder('a charge is encoded by the period of an earlier one', ['        isWithin(each.holds, now) &&\n', '']),
  encoder('a charge is encoded without its key', ['    once === undefined &&\n', '']),
  encoder('a forced charge is encoded as another', ['    forced === undefined &&\n', '']),
  encoder('a charge is encoded without the refunds beside it', [' && refunds.length === 0', '']),
  // A clock that was ahead.
  noticed('simulation', 'clock')(LUA, 'in the script a window may start in the future', [
    'if section[i] > now then',
    'if false then',
  ]),
  noticed('simulation', 'clock')(LUA, 'the script does not keep the start that it set to now', [
    '  if ahead then keep_running(section, key) end\n',
    '',
  ]),
  noticed('simulation', 'clock')(LUA, 'the script empties a window whose start it set to now', [
    'section[i], ahead = now, true',
    'section[i], section[n + i], ahead = now, 0, true',
  ]),
  byModel(LUA, 'a start in a far future does not come nearer, and its distance is cut off', [
    'math.min(starts[seconds] or now - shape.lengths[i], latest)',
    '(starts[seconds] or now - shape.lengths[i])',
  ]),
  byClock(LUA, 'the script keeps a window that is over beside a start that it set to now', [
    '    if section[i] ~= 0 then running',
    '    if section[i] == 0 then section[i] = now - shape.lengths[i] end\n    if true then running',
  ]),
  noticed('arithmetic', 'clock')(COUNTER, 'for a charge a window may start in the future', [
    'if (entry.startedAt > now) {',
    'if (entry.startedAt < 0) {',
  ]),
  noticed('arithmetic', 'clock')(COUNTER, 'a start that is set to now is forgotten', [
    '    entry.startedAt = now\n',
    '',
  ]),
  noticed('arithmetic', 'clock')(WINDOW, 'to who reads a window may start in the future', [
    'if (usage.startedAt > now) return',
    'if (usage.startedAt < 0) return',
  ]),
  noticed('arithmetic', 'clock')(WINDOW, 'a window that starts in the future is empty', [
    '{ startedAt: now, used: usage.used }',
    '{ startedAt: now, used: 0 }',
  ]),
  byClock(REPLICAS, 'a process that spoke in the future is never silent', [
    'Math.abs(now - at)',
    'Math.max(0, now - at)',
  ]),
  byClock('src/store/redis/beat.lua', 'a process that spoke in the future is kept until the clock gets there', [
    'if spoke > now then',
    'if false then',
  ]),
  // Windows of all users that are emptied.
  byModel(CONTROL, 'a window that was emptied keeps what was used', ['now - 1, 0, true', 'now - 1, tokens, true']),
  noticed('redis', 'model')(CONTROL, 'one window is emptied and the others with it', [
    '(all or named[seconds])',
    'true',
  ]),
  byModel(CONTROL, 'a refund of before a reset gets into the run after it', [
    'is_running = started >= now or (',
    'is_running = false and (',
  ]),
  byModel(CONTROL, 'a refund of before two resets gets into the run after them', [
    ' or (started == now - 1 and tokens == 0)',
    '',
  ]),
  noticed('reset')(CONTROL, 'a window that was emptied stays in its section', [
    'if is_running then running[',
    'if true then running[',
  ]),
  bySqlite(COUNTER, 'a window that is emptied goes on', [
    'return entry.startedAt < now && !isEmptiedNow ? [] :',
    'return',
  ]),
  bySqlite(COUNTER, 'a refund of before two resets gets into the run after them here, too', [
    ' && !isEmptiedNow ?',
    ' ?',
  ]),
  // The reply in our words.
  bySimulation(BATCH_TEXT, 'a refund names the wrong run of a window', [
    '[seconds, startedAt])',
    '[seconds, startedAt + 1])',
  ]),
  bySimulation(BATCH, 'global refunds are not sent', [
    '      const { position } = this.#ownerOf(',
    "      if (scope === 'global') continue\n      const { position } = this.#ownerOf(",
  ]),
  bySimulation(BATCH, 'refunds of an organisation are not sent', [
    '      const { position } = this.#ownerOf(',
    "      if (scope === 'organisation') continue\n      const { position } = this.#ownerOf(",
  ]),
  bySimulation(BATCH, 'users with and without an organisation share a plan', [
    ' &&\n        (plan.theirs !== null) === hasTheirs',
    '',
  ]),
  bySimulation(BATCH, 'charges of different costs share a plan', ['plan.cost === cost &&', '']),
  bySimulation(REPLY, 'the reply is read with the clock of the caller', [
    'const now = read48(reply, PREFIX + 6)',
    'const now = Date.now()',
  ]),
  bySimulation(ERRORS, 'a lost connection passes for a batch that was not applied', [
    "'the connection to Redis was lost', 'connection', 'unknown'",
    "'the connection to Redis was lost', 'connection', 'no'",
  ]),
  bySimulation(ERRORS, 'a silent Redis passes for a batch that was not applied', [
    "'Redis did not answer in time', 'timeout', 'unknown'",
    "'Redis did not answer in time', 'timeout', 'no'",
  ]),
  // The ledger.
  bySimulationAndLedger(SENDER, 'a batch is sent again under a new sequence', [
    'await store.settle(batch)',
    'await store.settle(uncertain ? { ...batch, sequence: batch.sequence + 1 } : batch)',
  ]),
  bySimulationAndLedger(SENDER, 'a batch of unknown outcome is dropped', [
    'return ageMs > (isFault',
    'return ageMs >= 0 || ageMs > (isFault',
  ]),
  bySimulationAndLedger(SENDER, 'that an outcome is unknown is forgotten at the next failure', [
    "if (failure.applied === 'unknown') uncertain = true",
    "uncertain = failure.applied === 'unknown'",
  ]),
  settlement('an accepted charge whose caller has gone is not given back', [
    'else if (decision.accepted) this.#giveBack(charge, decision)',
    '',
  ]),
  settlement('it is given back twice', [
    'else if (decision.accepted) this.#giveBack(charge, decision)',
    'else if (decision.accepted) for (let n = 0; n < 2; n++) this.#giveBack(charge, decision)',
  ]),
  settlement('a refused charge whose caller has gone is given back', [
    'else if (decision.accepted) this.#giveBack(charge, decision)',
    'else this.#giveBack(charge, decision)',
  ]),
  bySimulationAndLedger(REFUNDS, 'the refunds of a dropped batch are lost', [
    'else this.#waiting = [...this.#sent, ...this.#waiting]',
    '',
  ]),
  bySimulationAndLedger(QUEUE, 'a charge waits for ever for a store that is slow', [
    'expiresAt + 3 * deadlineMs',
    'expiresAt + 300 * deadlineMs',
  ]),
  ledger('two batches are under way at once', ['this.#work ??= this.#settleAll()', 'this.#work = this.#settleAll()']),
  settlement('decisions are handed to the wrong callers', [
    '(sent[i] as WaitingCharge, heard[i])',
    '(sent[i] as WaitingCharge, heard[heard.length - 1 - i])',
  ]),
  // The outage.
  settlement('what was admitted alone is forgotten when its batch is dropped', [
    'else if (isAdmitted(verdict)) this.#options.outage.owe(charge, verdict)',
    '',
  ]),
  bySimulationAndLedger(PAYMENT, 'debts of a dropped batch are forgotten', [
    'this.#options.outage.returned(this.#underWay)',
    '',
  ]),
  settlement('what the store accepted after all is paid as well', [
    'else if (isAdmitted(verdict)) outage.learn(charge, verdict, decision)',
    'else if (isAdmitted(verdict)) outage.owe(charge, verdict)',
  ]),
  bySimulationAndLedger(LOCAL, 'what is owed is left behind when the clock is set right', [
    'if (outage.owed() > 0) return',
    '',
  ]),
  bySimulationAndLedger(LOCAL, 'the clock of an outage is never set right', [
    'if (outage.owed() > 0) return',
    'if (outage.owed() > 0 || this.#ahead !== 0) return',
  ]),
  bySimulation(ALLOWANCE, 'limits are used whole while the store is out', [
    'limit: portion(promised(limit), of)',
    'limit: promised(limit)',
  ]),
  byLedger(ALLOWANCE, 'categories use up one share', [
    'function userOf({ user, category }: Meter): string {',
    'function userOf({ user, category }: Meter): string { if (category) return user',
  ]),
  bySimulation(RUNS, 'each window is paid what all charges cost', ['.filter((run) => run.used === cost)', '']),
  byLedger(DEBTS, 'a refund is taken out of a debt that ended', [
    "this.#open.delete(debt.key)\n    debt.state = 'settled'",
    'this.#open.delete(debt.key)',
  ]),
  byLedger(RUNS, 'a run that ended takes the place of the one that runs', [
    'else if (known.startedAt < run.startedAt) Object',
    'else Object',
  ]),
  byLedger(DEBT, 'a refund is taken out of a debt that another took over', ['  newer.joined = debt\n', '']),
  byLedger(RUNS, 'what is owed to the global windows ends with the runs of its user', [
    '(usages[i]?.startedAt ?? 0)',
    '(decision.personal[i]?.startedAt ?? 0)',
  ]),
  // Requests that come again.
  onceLua('the script charges a repetition', [
    "return '2', pack('>I6I2', charged.since, #charged.receipt) .. charged.receipt",
    'return nil, false',
  ]),
  onceLua('the script lets a repetition with any body through', ["if charged.body ~= body then return '3' end", '']),
  onceLua('the script counts no repetitions', ['if charged.replays >= replays then return nil, false end', '']),
  onceLua('the script knows a repetition for ever', [' or now >= charged.start + lasts then', ' then']),
  onceLua('the script lets a charge of the future be free until then', [
    'if charged and charged.start > now then charged.start, charged.forgotten = now, now + forgotten end',
    '',
  ]),
  onceLua('the script gives back what a repetition still uses', [
    'meter.open > 0 and math.max(before, meter.dearest) or meter.dearest',
    'meter.dearest',
  ]),
  onceLua('the script remembers what cost nothing', ['if is_free then known[key] = false end', '']),
  onceLua('the script takes any charge of a key for the one that is given back', [
    'if not charged or charged.since ~= since then',
    'if not charged then',
  ]),
  onceLua('the script gives back once for each repetition of a charge that it forgot', [
    'return first == 1 and reserve - cost or 0',
    'return reserve - cost',
  ]),
  onceLua('the script lets a cheap request pay for a dear repetition', [
    'math.max(before, meter.dearest) or meter.dearest',
    'before or math.min(before, meter.dearest)',
  ]),
  onceLua('the script counts repetitions that reached nobody', [
    'if unreached == 1 and first == 0 and use[10] == 0 then charged.replays = charged.replays - 1 end',
    '',
  ]),
  lua('the script remembers a charge beyond the number of its repetitions', ['if payer then', 'if true then']),
  lua('the script remembers where a window would have started, had it not', [
    'section[i] == 0 and now or section[i]',
    'section[i]',
  ]),
  noticed('redis', 'sqlite')(RECEIPT, 'a repetition gives back in its own windows', [
    "once?.kind === 'replayed' ? meterIn(once.receipt, refund.meter) : receipt",
    'receipt',
  ]),
  bySqlite(ONCE, 'what one of several uses gives back is given back', [
    'open > 0 ? Math.max(uses.paid, dearest) : dearest',
    'dearest',
  ]),
  bySqlite(ONCE, 'the last use of a key gives back what a dearer one cost', ['Math.max(uses.dearest, cost)', 'cost']),
  onceLua('the script gives back what a dearer use of the key cost', [
    'meter.dearest, meter.open = math.max(meter.dearest, cost), meter.open - 1',
    'meter.dearest, meter.open = cost, meter.open - 1',
  ]),
  bySqlite(ONCE, 'a use is not counted', ['open: each.open + 1', 'open: each.open']),
  ledger('a repetition is refused with its user', [
    'error !== null || charge.once !== undefined ? null : refusals.recall(charge)',
    'error !== null ? null : refusals.recall(charge)',
  ]),
  settlement('a key of another request refuses its user', [
    'else if (decision.once === undefined) return refusals',
    'else return refusals',
  ]),
  // Whose limits hold.
  plans(POLICY, 'the plan of the credential comes before that of the override', [
    '(set === undefined ? undefined : byPlan.get(set)) ?? (named === null ? undefined : byPlan.get(named))',
    '(named === null ? undefined : byPlan.get(named)) ?? (set === undefined ? undefined : byPlan.get(set))',
  ]),
  plans(POLICY, 'a plan that is not configured has the baselines, not the default plan', [
    'const byDefault = all.get(defaultPlan) ?? (all.get(null) as Tier)',
    'const byDefault = all.get(null) as Tier',
  ]),
  plans(POLICY, 'whoever has no organisation is charged in the scope of one', [
    'organisation === null ? tier.alone : tier.member',
    'tier.member',
  ]),
  plans(POLICY, 'limits of one plan are remembered for the user in another', [
    'own.users(limits, user,',
    'own.users(tiersOf(category).byDefault.alone.known, user,',
  ]),
  plans(POLICY, 'new users of a plan have the whole global limit', [
    'const isNewcomer = isOnlyLess &&',
    'const isNewcomer = plan === null && isOnlyLess &&',
  ]),
  plans(OVERRIDES, 'an override takes the organisation out of the charge', [
    'limits : { ...limits, personal, global }',
    'limits : { ...limits, personal, global, organisation: null }',
  ]),
  plans(LAYERS, 'what a plan leaves out has no limit', [
    'if (own !== undefined && plan !== null)\n      return found({ plan }, own,',
    "if (ofPlan !== undefined && plan !== null && scope !== 'global')\n      return found({ plan }, own ?? 1e12,",
  ]),
  plans(LAYERS, 'modes do not multiply the limits of plans', [
    'limitOf(window, found, factor,',
    "limitOf(window, found, typeof found.layer === 'object' ? 1 : factor,",
  ]),
  plans(LAYERS, 'values of mode custom replace those of plans', [
    "const own = scope === 'global' ? undefined : valueIn(ofPlan",
    "const own = scope === 'global' || mode === 'custom' ? undefined : valueIn(ofPlan",
  ]),
  plans(EXEMPTION, 'everybody is exempt behind the address of a proxy', [
    'wholeAddressOf(client, req.headers, isProxy)',
    'client.address',
  ]),
  plans(EXEMPTION, 'nobody is exempt by the user id', ["if (exempt.users.has(user)) return 'user'\n", '']),
  byLedger(RUNS, 'an organisation owes nothing', [
    'return { user, organisation, category, cost, forced',
    'return { user, organisation: null, category, cost, forced',
  ]),
  byLedger(DEBT, 'what a user owes for one organisation is owed for all', ["organisation ?? ''", "''"]),
  // The arithmetic that the embedded store shares.
  shared(ARITHMETIC, 'used + cost < limit', ['.used + cost > ', '.used + cost >= ']),
  shared(ARITHMETIC, 'the global scope is not checked', [' && fits(global, limits.global, cost)', '']),
  shared(ARITHMETIC, 'the organisation is not checked', [' && fits(their, limits.organisation, cost)', '']),
  shared(ARITHMETIC, 'the organisation is not charged', ['add(cost, theirs, their, limits.organisation, now)', '']),
  shared(ARITHMETIC, 'an organisation shares the counter of the user of its name', [
    "counterOf('organisation', organisation ?? '', category)",
    "counterOf('personal', organisation ?? '', category)",
  ]),
  shared(ARITHMETIC, 'the global scope is not charged', ['add(cost, all, global, limits.global, now)', '']),
  shared(ARITHMETIC, 'only the first window is charged', [
    'add(cost, own, personal, limits.personal, now)',
    'add(cost, own, personal, limits.personal.slice(0, 1), now)',
  ]),
  shared(ARITHMETIC, 'a refused charge counts', ['if (accepted) {', 'if (personal) {']),
  shared(ARITHMETIC, 'refunds come after the charges', [
    'for (const refund of batch.refunds) giveBack(refund, amountMade(refund, onces), counterOf, takeBackEnded)\n',
    'queueMicrotask(() => batch.refunds.forEach((refund) => giveBack(refund, amountMade(refund, onces), counterOf, takeBackEnded)))\n',
  ]),
  shared(COUNTER, 'nothing is charged in addition', ['entry.used - amount)', 'entry.used - Math.abs(amount))']),
  shared(CHARGE, 'every refund is of the whole cost', ['refund.amount ?? refundedMeter', 'refundedMeter']),
  byLedger(DEBTS, 'every refund takes the whole cost out of a debt', [
    'cost: amount }, refund.decision',
    'cost: refund.charge.cost }, refund.decision',
  ]),
  byLedger(OUTAGE, 'the amount of a refund is forgotten while nobody knows what the store has counted', [
    '[{ ...refund, decision: byStore }]',
    '[{ charge: refund.charge, decision: byStore }]',
  ]),
  byLedger(RUNS, 'the amount of a refund is forgotten when its debt is paid', [
    'const amount = amountOf(refund)',
    'const amount = charge.cost',
  ]),
  shared(COUNTER, 'a refund counts in a later run of the window', [' && e.startedAt === startedAt)', ')']),
  shared(ARITHMETIC, 'each charge starts its windows anew', [
    'usage.startedAt = startOf(usage, now)',
    'usage.startedAt = now',
  ]),
  shared(COUNTER, 'a new run starts with what the last one used', ['entry.used = used', 'entry.used += used']),
  shared(COUNTER, 'a counter ends with its first window', [
    'Math.max(latest, e.startedAt + e.seconds * 1000), 0)',
    'Math.min(latest || Infinity, e.startedAt + e.seconds * 1000), 0)',
  ]),
  shared(COUNTER, 'an entry still runs at the moment it ends', [
    'now < e.startedAt + e.seconds * 1000',
    'now <= e.startedAt + e.seconds * 1000',
  ]),
  shared(WINDOW, 'a window ends a millisecond late', [
    'now < startedAt + seconds * 1000',
    'now <= startedAt + seconds * 1000',
  ]),
  shared(WINDOW, 'a window ends a millisecond early', [
    'now < startedAt + seconds * 1000',
    'now < startedAt + seconds * 1000 - 1',
  ]),
  // Windows of a calendar.
  byModel(ONE_LUA, 'in the script a period ends a millisecond late', [
    '.lengths[calendars[i + 1]] = now - from + 1',
    '.lengths[calendars[i + 1]] = now - from + 2',
  ]),
  byModel(ONE_LUA, 'in the script a period ends a millisecond early', [
    '.lengths[calendars[i + 1]] = now - from + 1',
    '.lengths[calendars[i + 1]] = now - from',
  ]),
  byModel(ONE_LUA, 'in the script a day of the books ends a millisecond late', [
    'lengths[n] = now - from + 1',
    'lengths[n] = now - from + 2',
  ]),
  byModel(ONE_LUA, 'in the script the books are counted by a day that is over', [
    '(now < from or now >= to)',
    'now < from',
  ]),
  byRedisHistory(HISTORY_LUA, 'a window of the books is the longest', [
    ' and seconds ~= BOOK then longest',
    ' then longest',
  ]),
  byRedisHistory(HISTORY_LUA, 'the books are kept as a shorter window', ['(seconds == BOOK or seconds', '(seconds']),
  byRedisHistory(HISTORY_LUA, 'a window that is the longest no more loses runs at once', [
    'math.max(run and run.keep or 0, math.min(keep, longest))',
    'run and run.keep or keep',
  ]),
  byRedisHistory(CONTROL, 'a reset in Redis empties the books', [' and seconds ~= BOOK and (all', ' and (all']),
  byHistory(COUNTER, 'a reset in the embedded store empties the books', ['isBook(entry) || (!all', '(!all']),
  byHistory(HISTORY, 'in the embedded store the books are kept as a shorter window', [
    'isBook(entry) || seconds',
    'seconds',
  ]),
  byHistory(PACKED, 'in the embedded store a window that is the longest no more loses runs at once', [
    'Math.max(run?.keptSeconds ?? 0, Math.min(s.keptSeconds, mostSeconds))',
    'run?.keptSeconds ?? s.keptSeconds',
  ]),
  byLedger(RUNS, 'what was admitted in an outage is lost to the books with the day', [
    'isBook(run) ? Number.POSITIVE_INFINITY : ',
    '',
  ]),
  byModel(SCOPES, 'the books count no organisation without limits', [
    '...(theirs ?? NO_LIMITS), ...book',
    '...(theirs ?? NO_LIMITS), ...(theirs === null ? [] : book)',
  ]),
  byModel(ONE_LUA, 'the script decides by a period that is over', [
    'now < from or now >= calendars[i + 3]',
    'now < from',
  ]),
  byModel(ONE_LUA, 'the script decides by a period that is to come', [
    'now < from or now >= calendars',
    'now >= calendars',
  ]),
  byModel(BATCH_TEXT, 'charges of one batch all have the zone of the first', [
    ' && a.calendar?.zone === b.calendar?.zone',
    '',
  ]),
  byModel(CONTROL, 'a reset tells of a period that has ended', [
    'if is_of and started < (named[seconds] or 0) then is_running = false end',
    '',
  ]),
  byClock(REDIS, 'the clock of the gateway decides which day it is', [
    'encode(batch, now,',
    'encode(batch, Date.now(),',
  ]),
  byClock(STORE_CLOCK, 'the time that the script says is not heard', ['clock.heard(Number(now))', '']),
  bySqlite(WINDOW, 'a run that starts with its period belongs to the one before', [
    'startedAt >= periodOf(calendar, now).from',
    'startedAt > periodOf(calendar, now).from',
  ]),
  byLedger(RUNS, 'what was admitted in an outage is owed in the next period too', [
    ': endOf(run, startedAt)',
    ': startedAt + run.seconds * 1000',
  ]),
  byLedger(RUNS, 'what was admitted on two days is owed on the second', [
    '< lastsUntil(run, Math.min(',
    '< 1000 * run.seconds + (Math.min(',
  ]),
  noticed('calendar')(CALENDAR, 'a week begins on Sunday', ['getUTCDay() + 6) % 7', 'getUTCDay() + 7) % 7']),
  noticed('calendar')(CALENDAR, 'a day without a midnight begins before its first moment', [
    'Math.max(change, date - after)',
    'date - after',
  ]),
  noticed('calendar')(CALENDAR, 'a date that shows twice has two periods', [
    'if (moment < to) return { from, to }',
    'return { from, to }',
  ]),
  // Days with which months of one owner begin.
  bySimulation(PERIOD_DAYS, 'the billing day of a claim comes before that of an override', [
    'if (set !== undefined)',
    'if (set !== undefined && payer.periodDay === undefined)',
  ]),
  bySimulation(PERIOD_DAYS, 'an organisation has the billing day of its user', [
    "scope === 'personal' ? overrides.get(payer.user)",
    'scope.length > 0 ? overrides.get(payer.user)',
  ]),
  bySimulation(PERIOD_DAYS, 'months begin the day before the billing day', [
    'calendar: startingWith(calendar, day)',
    'calendar: startingWith(calendar, Math.max(1, day - 1))',
  ]),
  bySimulation(PERIOD_DAYS, 'limits of one billing day are those of another one', [
    '(own ?? 0) * (PERIOD_DAY.max + 1) + (theirs ?? 0)',
    '(own ?? 0) + (theirs ?? 0)',
  ]),
  // A cost that is known by the response.
  byCost(RESPONSE_COST, 'a part of a body is read as the whole', [
    'this.#asked.isHead || status === 206 || status === 304',
    'this.#isHead || status === 304',
  ]),
  byCost(RESPONSE_COST, 'a response to a HEAD is waited for its body', [
    'if (this.#asked.isHead || status === 206',
    'if (status === 206',
  ]),
  byCost(RESPONSE_COST, 'a body of any length is read for its cost', [
    "length > this.#source.maxBody ? 'unread' : null",
    'null',
  ]),
  byCost(RESPONSE_COST, 'a body of just the length that is read is not read', [
    'length > this.#source.maxBody',
    'length >= this.#source.maxBody',
  ]),
  byCost(RESPONSE_COST, 'a coded body is read however long it gets', [
    'text === null || text.bytes > this.#source.maxBody',
    'text === null',
  ]),
  byCost(RESPONSE_COST, 'a response that never came has no status', [
    'return costWithoutResponse(this.#rule, this.#reserve)',
    'return this.#cutOff()',
  ]),
  byCost(RESPONSE_COST, 'a response that broke off is taken for none', [
    "outcome === 'failed' && !headSent",
    "outcome === 'failed'",
  ]),
  byCost(RESPONSE_COST, 'what is known of a cost is forgotten at the end', [
    'return this.#known ?? this.#cutOff()',
    'return this.#cutOff()',
  ]),
  byCost(RESPONSE_COST, 'the client of a repetition reads what its charge cost', [
    'tokens === null || !hasField ?',
    'tokens === null ?',
  ]),
  byCost(RESPONSE_TEXT, 'a piece of a body is held once for each meter that reads it', [
    'if (length <= this.#length) return false\n',
    '',
  ]),
  byCost(RESPONSE_TEXT, 'a body in no coding is not read if its head says so', [" || coding === 'identity'", '']),
  byCost(FINAL_COST, 'a status has no cost but that of its class', ['rule.status.get(String(status)) ??', '']),
  byCost(FINAL_COST, 'an upstream may name any cost', ['tokens > reading.max ?', 'false ?']),
  byCost(FINAL_COST, 'what cannot be read costs nothing', [
    "return { tokens: reserve, source: 'malformed' }",
    "return { tokens: 0, source: 'malformed' }",
  ]),
  byCost(FINAL_COST, 'a response without a cost costs the reserve whatever is said', [
    'tokensOf(rule.missing, reserve)',
    'reserve',
  ]),
  byCost(FINAL_COST, 'of two lines the first one says the cost', [
    "others.length === 0 ? { text: first } : 'malformed'",
    '{ text: first }',
  ]),
  byCost(FINAL_COST, 'a cost below 0 is given to the user', [
    ' && value >= 0 ? Math.abs(value) : null',
    ' ? value : null',
  ]),
  byLedger(REFUNDS, 'a refund that was sent and lost is sent again', [
    'if (isUncertain) this.#reportLost(this.#sent)',
    'if (false) this.#reportLost(this.#sent)',
  ]),
  byLedger(REFUNDS, 'refunds whose charge is not yet known are never made', [
    'if (this.#open.length > 0) for (const refund of this.#open.splice(0)) this.#addLocal(refund)',
    '',
  ]),
  // The embedded store.
  sqlite('counters.ts', 'the embedded store answers a repeated batch anew', [
    'if (last?.sequence === batch.sequence) return last.decisions',
    '',
  ]),
  sqlite('counters.ts', 'the embedded store applies an overtaken batch', ['last.sequence > batch.sequence', 'false']),
  sqlite('counters.ts', 'the embedded store does not remember its last reply', [
    'replies.set(batch.instance, { sequence: batch.sequence, decisions })',
    '',
  ]),
  sqlite('counter-rows.ts', 'the embedded store writes the global scope to the wrong row', [
    'const number = SCOPE_NUMBERS[scope]',
    "const number = scope === 'organisation' ? 2 : 0",
  ]),
  sqlite('counter-rows.ts', 'the embedded store leaves the end of a row as it was', [
    'before?.ends === ends',
    'before !== undefined',
  ]),
  sqlite('counter-rows.ts', 'in the embedded store an organisation shares the row of the user of its name', [
    'organisation: 2 }',
    'organisation: 0 }',
  ]),
  sqlite('counters.ts', 'the embedded store writes without a transaction', [
    'writing(() => settleInside(batch, made))',
    'settleInside(batch, made)',
  ]),
  sqlite('counters.ts', 'the embedded store takes a full disk for one that has room', [
    'if (isQuestion(batch)) {',
    'if (false) {',
  ]),
  sqlite('sweeper.ts', 'the embedded store sweeps what still runs', [
    "'counters WHERE ends <= ?'",
    "'counters WHERE ends >= ?'",
  ]),
  ...USAGE_MUTATIONS,
  ...SETTLED_MUTATIONS,
  ...METER_MUTATIONS,
  ...GRANT_MUTATIONS,
]
