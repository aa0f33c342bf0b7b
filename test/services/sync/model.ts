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
  id: string
  open: boolean
  touched: number
  payloads: string[]
}

const FC = ['', 'fc', 'fcp', 'ap', 'app']
const FS = ['', 'sync', 'fs', 'fsp', 'fsd', 'fsdp']
const IDLE_MINUTES = 30

export class Model {
  minute = 0
  events: Event[] = []
  state: State | null = null
  /** The snapshot that was given up last, as long as no other has begun. */
  lost: string | null = null

  /** The status of the answer, with `partial` told apart. */
  upload({ records, full, id, final }: Upload): string {
    const expired = this.state?.open === true && this.minute - this.state.touched > IDLE_MINUTES
    if (expired) this.events.push({ kind: 'gone' })
    if (expired) [this.lost, this.state] = [this.state?.id ?? null, null]
    const state = this.state
    if (!full) {
      this.events.push({ kind: 'raise', records })
      return 'ok'
    }
    if (state?.open && state.id !== id) return '409'
    const payload = JSON.stringify(records)
    if (state !== null && !state.open && state.id === id) return state.payloads.includes(payload) ? 'ok' : '409'

    if (final && id !== null && id === this.lost) return '409'

    const begins = !state?.open
    const ends = final || id === null
    const chunks = begins ? [] : this.events.slice(this.events.findLastIndex(({ kind }) => kind === 'begin'))
    const isEmpty = ![...chunks, { kind: 'chunk', records }].some(
      (e) => e.kind === 'chunk' && 'records' in e && e.records.length,
    )
    if (ends && isEmpty) return '400'

    if (begins) this.events.push({ kind: 'begin' })
    this.events.push({ kind: 'chunk', records })
    if (ends) this.events.push({ kind: 'end' })
    if (id !== null) {
      this.lost = null
      const payloads = begins ? [] : (state?.payloads ?? [])
      this.state = { id, open: !ends, touched: this.minute, payloads: [...payloads, payload] }
    }
    return ends ? 'ok' : 'partial'
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
      for (const [key, record] of largest(event.records)) {
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
