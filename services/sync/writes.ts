import type { Judged } from './judge.ts'
import type { Step } from './protocol.ts'
import { best, isSame, keyOf, larger, type ScoreRecord } from './record.ts'
import { MARK, type Records, type StoredRecord } from './records.ts'

/** Turns the records of a request into stored scores. */

export interface Counts {
  /** Records with a new key. */
  readonly imported: number
  readonly updated: number
  /** Records that changed nothing. */
  readonly skipped: number
}

type Writing = Exclude<Step, { kind: 'repeat' }>

export function writeRecords(records: Records, qq: number, judged: Judged, step: Writing): Counts {
  const stored = new Map(records.list(qq).map((record) => [keyOf(record), record]))
  const counts = { imported: 0, updated: 0, skipped: 0 }
  for (const sent of judged.records) {
    const before = stored.get(keyOf(sent))
    const [after, mark] =
      step.kind === 'overwrite'
        ? overwritten(before, sent, judged.doubtful.has(keyOf(sent)))
        : raised(before, sent, marks(step))
    const isUnchanged = before !== undefined && isSame(before, after)
    counts[before === undefined ? 'imported' : isUnchanged ? 'skipped' : 'updated']++
    if (!isUnchanged || before.mark !== mark) records.put(qq, after, mark)
    stored.delete(keyOf(sent))
  }
  if (step.kind === 'overwrite') markNamed(records, qq, judged, [...stored.values()])
  return counts
}

function marks(step: Writing): boolean {
  return step.kind === 'raise' && step.marks
}

/** The score to store, and its mark. */
type Written = [ScoreRecord, number]

function raised(before: StoredRecord | undefined, sent: ScoreRecord, marks: boolean): Written {
  const mark = before?.mark ?? MARK.none
  return [before === undefined ? sent : best(before, sent), marks ? mark | MARK.incremental : mark]
}

function overwritten(before: StoredRecord | undefined, sent: ScoreRecord, isDoubtful: boolean): Written {
  const score = before === undefined ? sent : overwrittenScore(before, sent, isDoubtful)
  return [score, (before?.mark ?? MARK.none) | MARK.chunk]
}

function overwrittenScore(before: StoredRecord, sent: ScoreRecord, isDoubtful: boolean): ScoreRecord {
  // A player who played while the snapshot was under way has a score that the snapshot cannot know.
  if (isDoubtful || before.mark & MARK.incremental) return best(before, sent)
  // A key in several chunks is judged as if one chunk had it several times, so their order does not matter.
  return before.mark & MARK.chunk ? larger<ScoreRecord>(before, sent) : sent
}

/** Keeps the stored scores of charts whose records in this snapshot cannot be used. */
function markNamed(records: Records, qq: number, { named }: Judged, others: readonly StoredRecord[]): void {
  for (const record of others) {
    if (record.mark === MARK.none && named.has(record)) records.put(qq, record, MARK.named)
  }
}
