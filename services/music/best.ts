import { strongerCombo, strongerSync } from './labels.ts'

/** The result of a play on a chart. */
export interface Result {
  /** Percent x 10000. */
  readonly achievement: number
  readonly comboStatus: number
  readonly syncStatus: number
  readonly dxScore: number
}

/** The best of two results, field by field, so that no earned value is ever lowered. */
export function bestOf(a: Result, b: Result): Result {
  return {
    achievement: Math.max(a.achievement, b.achievement),
    comboStatus: strongerCombo(a.comboStatus, b.comboStatus),
    syncStatus: strongerSync(a.syncStatus, b.syncStatus),
    dxScore: Math.max(a.dxScore, b.dxScore),
  }
}
