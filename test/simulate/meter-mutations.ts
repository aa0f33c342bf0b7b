import { type Mutation, noticed, noticedIn } from './mutation.ts'

/** Mistakes in a charge of several meters: all of them are charged, or none, and each is given back, owed and reported by itself. */

const LUA = 'src/store/redis/charge.lua'
const ONE_LUA = 'src/store/redis/charge-one.lua'
const ONCE_LUA = 'src/store/redis/once.lua'
const BATCH = 'src/store/redis/charge-batch.ts'
const REPLY = 'src/store/redis/charge-reply.ts'
const ENCODER = 'src/store/redis/charge-encoder.ts'
const CHARGE = 'src/quota/charge.ts'
const RECEIPT = 'src/quota/receipt.ts'
const ARITHMETIC = 'src/quota/arithmetic.ts'
const ONCE = 'src/quota/once.ts'
const SETTLEMENT = 'src/quota/ledger/settlement.ts'
const REFUNDS = 'src/quota/ledger/refunds.ts'
const OUTAGE = 'src/quota/ledger/outage.ts'
const ALLOWANCE = 'src/quota/ledger/outage-allowance.ts'
const RECENT = 'src/quota/ledger/recent-refusals.ts'
const REFUSAL = 'src/quota/refusal.ts'
const REPORT = 'src/gateway/settlement.ts'
const METERS = 'src/gateway/meters.ts'
const COSTS = 'src/gateway/response-costs.ts'
const STEPS = 'src/gateway/steps.ts'
const HALF_HOURS = 'src/usage/half-hours.ts'

const byLedger = noticed('ledger')
const bySimulation = noticed('simulation')
const lua = noticedIn(LUA, 'redis', 'simulation')
const onceLua = noticedIn(ONCE_LUA, 'redis', 'model')
const several = noticed('redis', 'model', 'simulation')
const shared = noticed('sqlite')
const report = noticed('meters')

export const METER_MUTATIONS: readonly Mutation[] = [
  lua('the script looks at the first meter alone', [
    'have_room = have_room and fits',
    'have_room = have_room and (meter > 1 or fits)',
  ]),
  lua('the script forgets the limits of everybody for several meters', [
    'have_room = have_room and cost <= everybody[ROOM]',
    'have_room = have_room and everybody ~= nil',
  ]),
  lua('the script lets several meters fill what everybody shares again and again', [
    'section[ROOM], section[ADDED] = section[ROOM] - cost, (section[ADDED] or 0) + cost',
    'section[ADDED] = (section[ADDED] or 0) + cost',
  ]),
  noticed('one charge')(ONE_LUA, 'the script settles the first meter of one charge alone', [
    'batch.meters and batch.meters[1], 2',
    'batch.meters and batch.meters[1], 99',
  ]),
  lua('the script accepts several meters that have no room', [
    'mine, theirs, all = meters.open(key, plan, their_key, group), nil, nil, nil',
    'mine, theirs, all = meters.open(key, plan, their_key, group) ~= nil, nil, nil, nil',
  ]),
  lua('the script charges each meter as soon as it was looked at', [
    '    measure(section, key, of)\n    pool[many]',
    '    measure(section, key, of)\n    if first == 1 then put(section, key, cost) end\n    pool[many]',
  ]),
  lua('the script charges the first of several meters alone', [
    'for i = 1, many do\n      local section',
    'for i = 1, 1 do\n      local section',
  ]),
  lua('the script charges several meters by what it read before the first was charged', [
    '          open(section, key, section[SHAPE])\n          recorded = recorded - 1\n          measure(section, key, limits_of[i])\n',
    '',
  ]),
  lua('the script leaves open what several meters open anew', ['      shared[key] = nil\n', '']),
  lua('the script forgets what others of the batch have added where several meters open it', [
    'if common[ADDED] then put(common, key, common[ADDED]) end\n      shared',
    'shared',
  ]),
  lua('the script tells the second reading of several meters', [
    '          recorded = recorded - 1\n          measure(section, key, limits',
    '          measure(section, key, limits',
  ]),
  lua('the script remembers the first of several meters alone', [
    '    for i = 2, #group, 2 do costs[#costs + 1] = batch.plans[group[i]][PLAN_COST] end\n',
    '',
  ]),
  lua('the receipt of several meters has no starts', [
    'for i = 1, many do starts_of(opened[i], opened[i][SHAPE], starts, firsts_of[i]) end',
    '',
  ]),
  lua('the script writes the last of several sections under one key alone', [
    'if further and further[key] then tokens, at = span_of(key) end',
    '',
  ]),
  lua('the script loses what changed in place where another section of the value begins a run', [
    'if written[key] ~= 0 and bytes == values[key] then',
    'if false then',
  ]),
  onceLua('the script counts a repetition for the first meter alone', ['if i <= meters then', 'if i == 1 then']),
  onceLua('the script counts a repetition for meters that it lacks', ['if i <= meters then', 'if true then']),
  onceLua('the script forgets a key when the first of several meters is free', [
    'is_free = is_free and each.open == 0 and each.dearest == 0 end',
    'is_free = charged.meters[1].open == 0 and charged.meters[1].dearest == 0 and each ~= nil end',
  ]),
  onceLua('the script takes every report for one of the first meter', [
    'charged.meters[use[10] + 1]',
    'charged.meters[1]',
  ]),
  onceLua('the script keeps the first of several meters alone', [
    "others[i - 1] = pack('>BI6I6', meter.open, meter.paid, meter.dearest)",
    "others[i - 1] = pack('>BI6I6', meter.open, 0, 0)",
  ]),
  several(BATCH, 'further meters are sent with the plan of the first', [
    'others.flatMap(({ plan, organisation }) => [plan, organisation ?? 0])',
    'others.flatMap(({ organisation }) => [first.plan, organisation ?? 0])',
  ]),
  several(BATCH, 'further meters count for the organisation of the first', [
    '=> [plan, organisation ?? 0])',
    '=> [plan, first.organisation ?? organisation ?? 0])',
  ]),
  several(BATCH, 'what several meters open anew passes for open as before', ['    first.open = null\n', '']),
  several(BATCH, 'a receipt lacks further meters', ['...(charge.others ?? []).map(receiptWords)', '']),
  several(REPLY, 'the receipt of a repetition has the first meter alone', [
    'others.length === 0 ? first : { ...first, others: others.map(next) }',
    'first',
  ]),
  several(ENCODER, 'several meters are sent as one where they are alone', ['    others === undefined &&\n', '']),
  shared(ARITHMETIC, 'the first of several meters alone must have room', [
    'meters.every((meter, i) => hasRoom(',
    'meters.every((meter, i) => i > 0 || hasRoom(',
  ]),
  shared(ARITHMETIC, 'a further meter is charged although the first has no room', [
    'decideMeter(meter, counterOf, now, onAhead, false))\n  const accepted',
    'decideMeter(meter, counterOf, now, onAhead, meter !== meters[0]))\n  const accepted',
  ]),
  shared(RECEIPT, 'a further meter is given back of the first', [
    'const { charge, decision } = refundedMeter(refund)\n  const receipt',
    'const { charge, decision } = refund\n  const receipt',
  ]),
  shared(CHARGE, 'a further meter gives back what the first cost', [
    'refund.amount ?? refundedMeter(refund).charge.cost',
    'refund.amount ?? refund.charge.cost',
  ]),
  shared(ONCE, 'a key is forgotten when the first of several meters is free', [
    'usesOf(next).every(isFree)',
    'isFree(next)',
  ]),
  shared(ONCE, 'every report is one of the first meter', ['usesOf(known)[meter]', 'usesOf(known)[0]']),
  shared(ONCE, 'a repetition is counted for the first meter alone', [
    'known.others.map((uses, i) => change(uses, i + 1))',
    'known.others.map((uses, i) => (uses.dearest > 0 ? change(uses, i + 1) : uses))',
  ]),
  bySimulation(SETTLEMENT, 'of an accepted charge whose caller has gone the first meter alone is given back', [
    'for (const meter of metersOf(charge).keys()) this.refund({ charge, decision, meter })',
    'this.refund({ charge, decision })',
  ]),
  bySimulation(SETTLEMENT, 'of several lost meters the first alone is told', [
    'tokens += tokensOf(charge)',
    'tokens += charge.cost',
  ]),
  bySimulation(REFUNDS, 'a further meter that was admitted alone is given back by the store', [
    'outage.made(refundedMeter(refund).decision)',
    'outage.made(refund.decision)',
  ]),
  byLedger(OUTAGE, 'of several meters that were admitted alone the first is owed alone', [
    'if (of && admission) admission.debt',
    'if (of && admission && i === 0) admission.debt',
  ]),
  byLedger(OUTAGE, 'the store is known to have accepted the first of several meters alone', [
    '    for (const each of [decision, ...(decision.others ?? [])]) {\n      const admission',
    '    for (const each of [decision]) {\n      const admission',
  ]),
  byLedger(ALLOWANCE, 'the first of several meters alone must have a share', [
    'shares.every(({ meter }) => canHold(',
    'shares.slice(0, 1).every(({ meter }) => canHold(',
  ]),
  noticed('ledger', 'simulation')(ALLOWANCE, 'the share of the first of several meters is used alone', [
    'for (const { meter, own, theirs } of shares) {',
    'for (const { meter, own, theirs } of shares.slice(0, 1)) {',
  ]),
  byLedger(RECENT, 'a refusal is repeated whatever further meters ask for', [
    'if (others !== entry.others && !isAsMuch(others, entry.others)) return null',
    '',
  ]),
  byLedger(RECENT, 'a refusal of several meters outlives the window of a further one', [
    'ends.push(...endsOf(meter.limits, decision.others?.[i] as Decision))',
    'void endsOf(meter.limits, decision.others?.[i] as Decision)',
  ]),
  report(REFUSAL, 'a refusal names the first of several meters', ['[0]?.meter ?? charge', '[9]?.meter ?? charge']),
  report(REPORT, 'the first of several meters is reported alone', [
    "  if (kind !== 'charged') return\n",
    '  if (kind) return\n',
  ]),
  report(REPORT, 'the first of several meters alone is given back', [
    'metersOf(paid.charge).map((_, i) => refund(',
    '[paid.charge].map((_, i) => refund(',
  ]),
  report(REPORT, 'a correction is one of the first meter', ['...(meter > 0 && { meter }),', '']),
  report(REPORT, 'a further meter passes for a request', [
    'observe({ ...outcome, ...of, isFurther: true })',
    'observe({ ...outcome, ...of })',
  ]),
  report(REFUSAL, 'a 429 knows the first of several meters alone', [
    'addViolations(all, meter, decision.others?.[i] as Decision)',
    'void i',
  ]),
  report(METERS, 'what costs nothing is asked of the quota', [
    'all.filter((meter) => meter.cost > 0)',
    'all.filter((meter) => meter.cost >= 0)',
  ]),
  report(METERS, 'what becomes of a further meter is that of the first', [
    'exchange.others?.find(({ rule }) => rule.category === category) ?? exchange',
    'category === "" ? exchange.others?.[0] ?? exchange : exchange',
  ]),
  report(COSTS, 'a cost is told before each meter is known', [
    'hasField && !known.includes(undefined)',
    'hasField && known.length > 0',
  ]),
  report(STEPS, 'a body may have no price in a further meter', [
    "      if (typeof of !== 'number') return of\n",
    "      if (typeof of !== 'number') continue\n",
  ]),
  report(HALF_HOURS, 'each meter is an accepted request', ['    if (isFurther === true) return\n', '']),
]
