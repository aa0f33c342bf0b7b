import fc from 'fast-check'
import { expect } from 'vitest'
import { type AuditEntry, SCHEDULE } from '../../src/control/control-store.ts'
import { OVERRIDES, SETTINGS } from '../../src/control/forms.ts'
import { inForce, NOTHING_CHANGED } from '../../src/control/in-force.ts'
import {
  begun,
  current,
  type Form,
  isOver,
  kept,
  leavesInForce,
  NOTHING,
  packedOf,
  removed,
  type Stack,
  set,
  stackOf,
  takenBack,
} from '../../src/control/layers.ts'
import type { Leaf } from '../../src/control/leaves.ts'
import { type Packed, type StoredControl, UNCHANGED } from '../../src/control/state.ts'
import { undoOf } from '../../src/control/undo.ts'

/**
 * What was ever said, in the order in which it was: nothing is put together, or forgotten because it is hidden. In force is of each
 * place the newest that lives.
 */
interface Said {
  readonly id: string
  readonly seq: number
  readonly from: number
  readonly until: number | null
  leaves: Leaf[]
}

interface Some {
  readonly said: Said
  readonly leaves: readonly Leaf[]
}

/** What an operation of the model has added, taken away and changed: the way back. */
interface Step {
  readonly added: Some[]
  readonly gone: Some[]
}

const isWithin = (path: readonly string[], place: readonly string[]) => place.every((name, i) => path[i] === name)

class Model {
  said: Said[] = []
  readonly #places: readonly (readonly string[])[]

  constructor(places: readonly (readonly string[])[]) {
    this.#places = places
  }

  /** By place. */
  inForce(at: number): Map<string, unknown> {
    const result = new Map<string, unknown>()
    for (const place of this.#places) {
      const value = this.#valueOf(place, at)
      if (value !== null) result.set(place.join('.'), value)
    }
    return result
  }

  /** From the oldest on: a factor with an end multiplies what it lies over, and anything else hides it. */
  #valueOf(place: readonly string[], at: number): unknown {
    const live = this.said
      .filter(({ from, until }) => from <= at && (until === null || until > at))
      .sort((a, b) => a.from - b.from || a.seq - b.seq)
    let value: unknown = null
    for (const { until, leaves } of live) {
      const leaf = leaves.find(([path]) => isWithin(place, path))
      if (leaf === undefined) continue
      const { factor = 1, limits, reason } = (leaf[1] ?? {}) as { factor?: number; limits?: object; reason?: string }
      const under = value as { factor?: number; reason?: string; beneath?: string } | null
      const beneath = under?.beneath ?? under?.reason
      const isFactor = limits !== undefined && Object.keys(limits).length === 0 && until !== null
      value = isFactor && under !== null ? { ...under, factor: factor * (under.factor ?? 1), reason, beneath } : leaf[1]
    }
    return value
  }

  #top(place: readonly string[], at: number, orBelow = false): [value: unknown, said: Said, leaf: Leaf] | null {
    let best: [value: unknown, said: Said, leaf: Leaf] | null = null
    for (const said of this.said) {
      if (said.from > at || (said.until !== null && said.until <= at)) continue
      const leaf = said.leaves.find(([path]) => isWithin(place, path) || (orBelow && isWithin(path, place)))
      if (leaf === undefined) continue
      if (best === null || said.from > best[1].from || (said.from === best[1].from && said.seq > best[1].seq)) {
        best = [leaf[1], said, leaf]
      }
    }
    return best
  }

  /** @param isForGood neither temporary nor guarded: it takes nothing from others, it only hides them */
  say(said: Said, at: number, isForGood: boolean): Step {
    const gone: Step['gone'] = []
    for (const leaf of isForGood || said.from > at ? [] : said.leaves) {
      const top = this.#top(leaf[0], at, true)
      const isSame =
        top !== null && top[2][0].length === leaf[0].length && JSON.stringify(top[0]) === JSON.stringify(leaf[1])
      if (!isSame || !this.#isTemporary(top[1])) continue
      top[1].leaves = top[1].leaves.filter((other) => other !== top[2])
      gone.push({ said: top[1], leaves: [top[2]] })
    }
    this.said.push(said)
    return { added: [{ said, leaves: [...said.leaves] }], gone }
  }

  readonly guarded = new Set<string>()
  #isTemporary({ until, id }: Said): boolean {
    return until !== null || this.guarded.has(id)
  }

  began(id: string): Step {
    const said = this.#find(id)
    return { added: [{ said, leaves: [...said.leaves] }], gone: [] }
  }

  #find(id: string): Said {
    const said =
      this.said.findLast((one) => one.id === id && one.leaves.length > 0) ?? this.said.find((one) => one.id === id)
    if (said === undefined) throw new Error(`nothing was said of ${id}`)
    return said
  }

  /** @param shown what is still seen of it: more nobody can take away */
  remove(id: string, shown: readonly Leaf[]): Step {
    const said = this.#find(id)
    const isShown = ([path]: Leaf) => shown.some(([place]) => isWithin(place, path))
    const leaves = said.leaves.filter(isShown)
    said.leaves = said.leaves.filter((leaf) => !isShown(leaf))
    return { added: [], gone: [{ said, leaves }] }
  }

  /** What is seen of it ends no more. */
  stay(id: string, shown: readonly Leaf[]): Step {
    const said = this.#find(id)
    const { gone } = this.remove(id, shown)
    const leaves = gone.flatMap((some) => some.leaves)
    const forGood: Said = { ...said, until: null, leaves: [...leaves] }
    this.said.push(forGood)
    return { added: [{ said: forGood, leaves }], gone }
  }

  back({ added, gone }: Step): Step {
    const taken = added.map(({ said, leaves }): Some => {
      const there = said.leaves.filter((leaf) => leaves.includes(leaf))
      said.leaves = said.leaves.filter((leaf) => !leaves.includes(leaf))
      return { said, leaves: there }
    })
    const given = gone.map(({ said, leaves }): Some => {
      const missing = leaves.filter((leaf) => !said.leaves.includes(leaf))
      said.leaves = [...said.leaves, ...missing]
      return { said, leaves: missing }
    })
    return { added: given, gone: taken }
  }
}

type Operation =
  | {
      readonly kind: 'set'
      readonly leaves: readonly number[]
      readonly from: number
      readonly lasts: number
      readonly guarded: boolean
    }
  | { readonly kind: 'again'; readonly place: number; readonly lasts: number }
  | { readonly kind: 'remove' | 'stay' | 'take_back' | 'keep' | 'undo'; readonly pick: number }
  | { readonly kind: 'tidy' | 'restart' | 'pass' }

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('set' as const),
      leaves: fc.uniqueArray(fc.nat(5), { minLength: 1, maxLength: 3 }),
      /** How many steps later; 0 for at once. */
      from: fc.oneof(fc.constant(0), fc.nat(6)),
      /** 0 for ever. */
      lasts: fc.oneof(fc.constant(0), fc.nat(9)),
      guarded: fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.boolean()),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('again' as const),
      place: fc.nat(4),
      lasts: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'remove' as const,
        'stay' as const,
        'take_back' as const,
        'keep' as const,
        'undo' as const,
        'undo' as const,
      ),
      pick: fc.nat(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('tidy' as const, 'restart' as const, 'pass' as const) }) },
)

const STEP = 100

interface Kind {
  readonly what: 'settings' | 'override'
  readonly form: Form
  readonly places: readonly (readonly string[])[]
  /** What operations name: places, or what lies above several of them. */
  readonly named: readonly (readonly string[])[]
  /** A value that was never there before. */
  readonly value: (n: number) => unknown
}

const limit = (window: string) => ['baselines', 'personal', 'read', window]
const OF_PLAN = ['plans', 'free', 'personal', 'read', '1h']
const SETTINGS_KIND: Kind = {
  what: 'settings',
  form: SETTINGS,
  places: [['shadow'], limit('1h'), limit('1d'), OF_PLAN, ['global', 'multiplier']],
  named: [
    ['shadow'],
    limit('1h'),
    limit('1d'),
    OF_PLAN,
    ['global', 'multiplier'],
    ['baselines'],
    ['plans'],
    ['global'],
  ],
  value: (n) => n + 1000,
}
const override = (n: number) => ({
  limits: { read: { '1h': n } },
  bypassGlobal: false,
  shadow: false,
  reason: `r${n}`,
  expiresAt: null,
})
/** One in three only multiplies. */
const orFactor = (n: number) => (n % 3 > 0 ? override(n) : { ...override(n), limits: {}, factor: n + 2 })

const KINDS: Readonly<Record<string, Kind>> = {
  settings: SETTINGS_KIND,
  overrides: { what: 'override', form: OVERRIDES, places: [[]], named: [[]], value: override },
  factors: { what: 'override', form: OVERRIDES, places: [[]], named: [[]], value: orFactor },
}
export const HISTORIES = Object.keys(KINDS)

/** An override begins at once, no guard watches it, and its end is moved rather than cancelled. */
function ofOverride(operation: Operation): Operation {
  if (operation.kind === 'set') return { ...operation, from: 0, guarded: false }
  const isOfSettings = operation.kind === 'stay' || operation.kind === 'keep' || operation.kind === 'take_back'
  return isOfSettings ? { kind: 'remove', pick: operation.pick } : operation
}

/** The history of one thing, in the product and in the model. */
class History {
  readonly #kind: Kind
  readonly #model: Model
  readonly #saidTwice = new Set<string>()
  /** Layers that stay for good since a change, by its number. */
  readonly #stayed: { readonly n: number; readonly id: string }[] = []
  /** Numbers of undos. */
  readonly #undos: number[] = []
  readonly #givenBack: { readonly n: number; readonly path: readonly string[] }[] = []
  readonly #log: { readonly entry: AuditEntry; readonly step: Step }[] = []
  #stack: Stack = NOTHING
  #last = NOTHING_CHANGED
  #at = STEP
  #n = 0

  constructor(kind: Kind) {
    this.#kind = kind
    this.#model = new Model(kind.places)
  }

  run(any: Operation): void {
    const operation = this.#kind.what === 'settings' ? any : ofOverride(any)
    this.#at += STEP
    this.#n++
    const before = this.#packed()
    const step = this.#make(operation)
    // As it is stored and read.
    this.#stack = stackOf(this.#kind.form, JSON.parse(JSON.stringify(this.#packed())))
    // Which guards run is for the product to say: it is asserted elsewhere.
    this.#model.guarded.clear()
    for (const { id, guard } of this.#stack.layers) if (guard !== undefined) this.#model.guarded.add(id)
    if (step !== null)
      this.#log.push({ entry: this.#entry(before, operation.kind === 'tidy' ? SCHEDULE : 'ann'), step })
    this.#compare()
  }

  #packed(): Packed<unknown> | null {
    return packedOf(this.#kind.form, this.#stack) as Packed<unknown> | null
  }

  #entry(from: unknown, who: string): AuditEntry {
    const { what } = this.#kind
    const to = this.#packed()
    return {
      version: this.#n,
      at: this.#at,
      who,
      what,
      subject: what === 'settings' ? null : 'bob',
      from,
      to,
      why: null,
    }
  }

  #make(operation: Operation): Step | null {
    if (operation.kind === 'set') return this.#set(operation)
    if (operation.kind === 'again') return this.#again(operation)
    if (operation.kind === 'tidy') return this.#tidy()
    else if (operation.kind === 'restart') this.#last = NOTHING_CHANGED
    else if (operation.kind === 'undo') return this.#undo(operation.pick)
    else if ('pick' in operation) return this.#decide(operation.kind, operation.pick)
    return null
  }

  /** What has come, as the keeper writes it down. */
  #tidy(): Step | null {
    const layer = this.#stack.layers.find((one) => one.begun !== true && one.from <= this.#at && !isOver(one, this.#at))
    if (layer === undefined) {
      this.#stack = current(this.#stack, this.#at)
      return null
    }
    this.#stack = begun(this.#stack, layer.id, this.#at)
    return this.#model.began(layer.id)
  }

  #set({ leaves: picks, from, lasts, guarded }: Operation & { kind: 'set' }): Step | null {
    const { named, value } = this.#kind
    const chosen = [...new Set(picks.map((pick) => pick % named.length))].map(
      (pick) => named[pick] as readonly string[],
    )
    // A body names a place once.
    const paths = chosen.filter(
      (path) => !chosen.some((other) => other !== path && other.every((name, i) => path[i] === name)),
    )
    const all = named.length > 1 && paths.every((path) => path.length === 1)
    // A factor without an end would lie over nothing.
    const made = lasts === 0 ? override : value
    const valueAt = this.#kind.what === 'settings' ? value : made
    let leaves = paths.map(
      (path, i): Leaf => [
        path,
        path.length === 1 && path[0] !== 'shadow' ? null : all && i > 0 ? null : valueAt(this.#n * 10 + i),
      ],
    )
    if (from === 0 && lasts === 0 && !guarded) leaves = leaves.filter((leaf) => this.#says(leaf))
    return this.#say(leaves, from === 0 ? null : this.#at + from * STEP + 1 + (this.#n % 7), lasts, guarded)
  }

  /** To give back what nobody has set is no change. */
  #says([path, value]: Leaf): boolean {
    const known = [
      ...this.#stack.permanent,
      ...this.#stack.layers.filter(({ from }) => from <= this.#at).flatMap(({ leaves }) => leaves),
    ]
    return value !== null || known.some(([place]) => path.every((name, i) => place[i] === name))
  }

  /** Sets what is in force with another end. */
  #again({ place, lasts }: Operation & { kind: 'again' }): Step | null {
    const { places } = this.#kind
    const path = places[place % places.length] as readonly string[]
    const leaf = leavesInForce(this.#kind.form, this.#stack, this.#at).find(
      (one) => one[0].length === path.length && one[0].every((name, i) => name === path[i]),
    )
    const isPermanent = this.#stack.permanent.some((one) => JSON.stringify(one) === JSON.stringify(leaf))
    // What is so for ever needs no end: the API refuses it.
    // Nor can a state say who has set a value that was set twice for good.
    if (leaf !== undefined) this.#saidTwice.add(`l${this.#n}`)
    return leaf === undefined || isPermanent ? null : this.#say([leaf], null, lasts, false)
  }

  #say(leaves: readonly Leaf[], from: number | null, lasts: number, isGuarded: boolean): Step {
    const id = `l${this.#n}`
    const begins = from ?? this.#at
    const until = lasts === 0 ? null : begins + lasts * STEP + 50
    const guard = isGuarded ? { id, until: begins + 500, refused: 0.05 } : undefined
    const about = { id, until, leaves, who: 'ann', why: null, ...(guard && { guard }) }
    this.#stack = set(this.#stack, { ...about, from }, this.#at)
    if (isGuarded) this.#model.guarded.add(id)
    for (const [path, value] of leaves)
      if (value === null) this.#givenBack.push({ n: from === null ? this.#n : Number.POSITIVE_INFINITY, path })
    const said: Said = { id, seq: this.#n, from: begins, until, leaves: [...leaves] }
    return this.#model.say(said, this.#at, until === null && !isGuarded)
  }

  #decide(kind: 'remove' | 'stay' | 'take_back' | 'keep', pick: number): Step | null {
    const at = this.#at
    const isGuard = kind === 'take_back' || kind === 'keep'
    const fit = this.#stack.layers.filter(
      (layer) =>
        !isOver(layer, at) &&
        (isGuard
          ? layer.guard !== undefined && layer.begun === true
          : kind !== 'stay' || (layer.until !== null && !this.#saidTwice.has(layer.id))),
    )
    const layer = fit[pick % Math.max(1, fit.length)]
    if (layer === undefined) return null
    const { id } = layer
    if (kind === 'keep') {
      this.#stack = kept(this.#stack, id, 'guard', at)
      this.#model.guarded.delete(id)
      return { added: [], gone: [] }
    }
    if (kind === 'stay') {
      this.#stack = kept(this.#stack, id, 'until', at)
      this.#stayed.push({ n: this.#n, id })
      return this.#model.stay(id, layer.leaves)
    }
    this.#stack = kind === 'remove' ? removed(this.#stack, id) : takenBack(this.#stack, id)
    return this.#model.remove(id, layer.leaves)
  }

  #undo(pick: number): Step | null {
    const logged = this.#log[pick % Math.max(1, this.#log.length)]
    if (logged === undefined) return null
    const { step, entry } = logged
    const places = [...step.added, ...step.gone].flatMap(({ leaves }) => leaves.map(([path]) => path))
    // Whether somebody has given back since what is at the file's value anyway, no state says.
    const isGivenBack = this.#givenBack.some(
      ({ n, path }) => n > entry.version && places.some((place) => isWithin(place, path) || isWithin(path, place)),
    )
    // Nor whether a layer that it replaced has ended, or stayed for good and was replaced since.
    const layersOf = (value: unknown) => stackOf(this.#kind.form, value as Packed<unknown> | null).layers
    const isStayed = layersOf(entry.from).some(({ id }) =>
      this.#stayed.some((one) => one.n > entry.version && one.id === id),
    )
    // Nor what was undone under a guarded change before its guard ended.
    const isKept = layersOf(entry.to).some(({ id, guard }) => guard !== undefined && !this.#model.guarded.has(id))
    if (isGivenBack || isStayed || (isKept && this.#undos.some((n) => n > entry.version))) return null
    const found = undoOf(entry, this.#stored(), this.#at)
    if (found.kind !== 'possible' || found.change === null) return null
    this.#undos.push(this.#n)
    this.#stack = stackOf(this.#kind.form, (found.change as { to: Packed<unknown> | null }).to)
    return this.#model.back(step)
  }

  #stored(): StoredControl {
    const value = this.#packed()
    const version = this.#n
    if (this.#kind.what === 'settings')
      return { ...UNCHANGED, version, settings: { version, value: (value ?? {}) as never } }
    return {
      ...UNCHANGED,
      version,
      overrides: new Map(value === null ? [] : [['bob', { version, value: value as never }]]),
    }
  }

  /** Now, and at each moment that is to come, in any order. */
  #compare(): void {
    const times = this.#model.said.flatMap(({ from, until }) => [
      from - 1,
      from,
      ...(until === null ? [] : [until - 1, until]),
    ])
    for (const at of [this.#at, ...new Set(times.filter((time) => time > this.#at)), this.#at]) {
      const byPlace = new Map(
        leavesInForce(this.#kind.form, this.#stack, at).map(([path, value]) => [path.join('.'), value]),
      )
      expect(byPlace, `at ${at}`).toEqual(this.#model.inForce(at))
      this.#last = inForce(this.#stored(), this.#last, at)
      const { settings, overrides } = this.#last.state
      const value = this.#kind.what === 'settings' ? settings.value : (overrides.get('bob')?.value ?? null)
      const leaves = value === null ? [] : this.#kind.form.leavesOf(value)
      expect(new Map(leaves.map(([path, one]) => [path.join('.'), one]))).toEqual(byPlace)
    }
    // Putting together what was said changes nothing of what is in force, now or later.
    const tidy = current(this.#stack, this.#at)
    for (const at of [this.#at, ...times.filter((time) => time > this.#at)]) {
      expect(new Map(leavesInForce(this.#kind.form, tidy, at).map(([path, value]) => [path.join('.'), value]))).toEqual(
        this.#model.inForce(at),
      )
    }
  }
}

const change = (leaves: readonly number[], lasts: number, guarded = false, from = 0): Operation => {
  return { kind: 'set', leaves, from, lasts, guarded }
}
const pick = (kind: 'remove' | 'stay' | 'keep' | 'undo', n: number): Operation => ({ kind, pick: n })

/** Histories that were told wrong once, by kind. */
const ONCE_WRONG: Readonly<Record<string, readonly (readonly Operation[])[]>> = {
  overrides: [
    // A temporary value that was put back hid a value for good that was put back behind it.
    [change([0], 5), pick('remove', 0), change([0], 0), pick('undo', 2), pick('undo', 1), pick('undo', 3)],
  ],
  settings: [
    // What a guard had taken back was counted as what it had kept.
    [...[change([1, 0], 2), change([0], 0, true), pick('stay', 0), pick('remove', 0), change([0], 1)], pick('undo', 2)],
    // The other way round, where what it kept was to give back.
    [change([1, 0], 0, true), change([3, 4], 0, true), pick('keep', 1), pick('undo', 1)],
    [change([3, 0], 3), change([1, 5], 0, true), pick('keep', 0), pick('undo', 1)],
    // An undo that was undone in part already put back a temporary value beside its own successor.
    [
      ...[change([2], 7), change([0], 0), change([0], 0), change([4, 0], 0), pick('undo', 3)],
      ...[{ kind: 'again', place: 2, lasts: 1 } as const, pick('undo', 3)],
    ],
    // What had hidden a temporary value was gone when the value was put back.
    [change([1], 4), change([4, 0], 3), pick('remove', 0), change([2, 0], 0), pick('undo', 2)],
    // Of what was given back for a while a part was set for good, and the rest was left over.
    [change([2], 0), change([4, 3], 2), change([1], 0), pick('undo', 1)],
    // A temporary value that was put back stayed for good, and then what had hidden it was to come back.
    [change([1], 3), change([4, 3, 0], 0), pick('undo', 1), pick('stay', 0), pick('undo', 2)],
  ],
}

/**
 * Compares so many random histories with the model, from the moment of each change on: always the same ones, and others with
 * `HISTORIES_SEED=7 npx vitest run test/control`. Of 100,000 others about one is still told wrong, and goes to those above once it is right.
 */
export function compareHistories(kind: string, numRuns: number): void {
  const seed = Number(process.env.HISTORIES_SEED ?? 1)
  const property = fc.property(fc.array(operation, { minLength: 1, maxLength: 14 }), (operations) => {
    const history = new History(KINDS[kind] as Kind)
    for (const one of operations) history.run(one)
  })
  const examples = (ONCE_WRONG[kind] ?? []).map((operations): [Operation[]] => [[...operations]])
  fc.assert(property, { numRuns, examples, seed })
}
