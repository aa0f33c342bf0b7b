/**
 * What the protocol of snapshots says, written as plainly as possible and apart from the service: a player is a list of everything
 * that has been accepted, and the stored scores are worked out of that list from the beginning, every time.
 */

export interface ModelRecord {
  readonly song_id: number
  readonly level_index: number
  readonly achievements: number
  readonly dxScore: number
  readonly fc: string
  readonly fs: string
}

export interface Upload {
  readonly records: readonly ModelRecord[]
  readonly full: boolean
  readonly id: string | null
  readonly final: boolean
}

type Event =
  | { kind: 'raise' | 'chunk'; records: readonly ModelRecord[] }
  | { kind: 'begin' }
  | { kind: 'end' }
  | { kind: 'gone' }

interface State {
  over: 'no' | 'closed' | 'expired'
  touched: number
  payloads: string[]
  /** Chunks of it that were refused. */
  owed: Set<string>
}

const FC = ['', 'fc', 'fcp', 'ap', 'app']
const FS = ['', 'sync', 'fs', 'fsp', 'fsd', 'fsdp']
const IDLE_MINUTES = 30

export class Model {
  minute = 0
  events: Event[] = []
  /** By id, in the order in which they began. */
  snapshots = new Map<string, State>()
  /** Chunks that were refused before their snapshot began, by id. */
  refused = new Map<string, Set<string>>()

  /** The status of the answer, with `partial` told apart. */
  upload({ records, full, id, final }: Upload): string {
    this.expire()
    const newest = [...this.snapshots].at(-1)
    if (!full) {
      this.events.push({ kind: 'raise', records })
      return 'ok'
    }
    const state = id === null ? undefined : this.snapshots.get(id)
    const payload = JSON.stringify(records)
    if (state?.over === 'expired') return '409'
    if (state?.over === 'closed') {
      if (state.payloads.includes(payload)) return 'ok'
      if (newest?.[1] !== state) return '409'
      state.payloads.push(payload)
      this.events.push({ kind: 'raise', records: records.filter(isUsable) })
      return 'ok'
    }
    const owe = () => {
      if (id === null || records.length === 0) return
      const owed = state?.owed ?? this.refused.get(id) ?? new Set()
      if (!state) this.refused.set(id, owed)
      owed.add(payload)
    }
    if (newest?.[1].over === 'no' && newest[1] !== state) {
      owe()
      return '409'
    }

    const ends = final || id === null
    const chunks = state ? this.events.slice(this.events.findLastIndex(({ kind }) => kind === 'begin')) : []
    const sent = [...chunks.flatMap((e) => (e.kind === 'chunk' && 'records' in e ? e.records : [])), ...records]
    if (ends && !sent.some(isUsable)) {
      owe()
      return '400'
    }
    const owed = this.refused.get(String(id)) ?? new Set<string>()
    const now: State = state ?? { over: 'no', touched: 0, payloads: [], owed }
    if (!state) {
      this.events.push({ kind: 'begin' })
      // One without an id is not known by any.
      this.snapshots.set(id ?? `one of ${this.events.length}`, now)
    }
    now.touched = this.minute
    now.payloads.push(payload)
    now.owed.delete(payload)
    this.events.push({ kind: 'chunk', records })
    if (ends) this.events.push({ kind: now.owed.size > 0 ? 'gone' : 'end' })
    if (ends) now.over = 'closed'
    return ends ? 'ok' : 'partial'
  }

  private expire() {
    for (const state of this.snapshots.values()) {
      if (state.over !== 'no' || this.minute - state.touched <= IDLE_MINUTES) continue
      state.over = 'expired'
      this.events.push({ kind: 'gone' })
    }
  }

  /** The stored scores, by key. */
  stored(): Record<string, ModelRecord> {
    let scores = new Map<string, ModelRecord>()
    let inChunks = new Set<string>()
    let raised = new Set<string>()
    let kept: Set<string> | null = null
    for (const event of this.events) {
      if (event.kind === 'begin') [inChunks, raised, kept] = [new Set(), new Set(), new Set()]
      if (event.kind === 'gone') kept = null
      if (event.kind === 'end' && kept !== null) {
        const survivors = kept
        scores = new Map([...scores].filter(([key]) => survivors.has(key)))
        kept = null
      }
      if (!('records' in event)) continue
      for (const unusable of event.records)
        if (!isUsable(unusable) && event.kind === 'chunk') kept?.add(keyOf(unusable))
      for (const [key, record] of largest(event.records.filter(isUsable))) {
        const before = scores.get(key)
        const isRaised = event.kind === 'raise' || raised.has(key)
        if (before === undefined || (!isRaised && !inChunks.has(key))) scores.set(key, record)
        else scores.set(key, isRaised ? bestOf(before, record) : larger(before, record))
        if (event.kind === 'chunk') inChunks.add(key)
        else if (kept !== null) raised.add(key)
        kept?.add(key)
      }
    }
    return Object.fromEntries(scores)
  }
}

function isUsable({ dxScore }: ModelRecord): boolean {
  return dxScore >= 0
}

export function keyOf({ song_id, level_index }: ModelRecord): string {
  return `${song_id}/${level_index}`
}

/** Of each key the record with the larger (achievements, dxScore); the stronger lamps decide between equals. */
export function largest(records: readonly ModelRecord[]): Map<string, ModelRecord> {
  const found = new Map<string, ModelRecord>()
  for (const record of records) found.set(keyOf(record), larger(found.get(keyOf(record)) ?? record, record))
  return found
}

function larger(a: ModelRecord, b: ModelRecord): ModelRecord {
  const ranks = (r: ModelRecord) => [r.achievements, r.dxScore, FC.indexOf(r.fc), FS.indexOf(r.fs)]
  const other = ranks(b)
  const difference =
    ranks(a)
      .map((rank, index) => rank - (other[index] ?? 0))
      .find((d) => d !== 0) ?? 0
  return difference >= 0 ? a : b
}

function bestOf(a: ModelRecord, b: ModelRecord): ModelRecord {
  return {
    ...a,
    achievements: Math.max(a.achievements, b.achievements),
    dxScore: Math.max(a.dxScore, b.dxScore),
    fc: FC[Math.max(FC.indexOf(a.fc), FC.indexOf(b.fc))] ?? '',
    fs: FS[Math.max(FS.indexOf(a.fs), FS.indexOf(b.fs))] ?? '',
  }
}
