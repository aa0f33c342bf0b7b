import type { Database } from '../common/database.ts'
import type { Gate } from './schemas/fixture.ts'

const NAMES: Readonly<Record<number, string>> = {
  1: 'Blue Gate',
  2: 'White Gate',
  3: 'Purple Gate',
  4: 'Black Gate',
  5: 'Yellow Gate',
  6: 'Red Gate',
  7: 'Prism Tower',
  8: 'Outer Gate',
  9: 'Gate of Hope',
  10: 'Inner Gate',
}

export type GateState = 'undiscovered' | 'key_only' | 'locked' | 'open' | 'cleared'

type Flags = Pick<Gate, 'isGateFound' | 'isKeyFound' | 'isClear'>

/** The state of a player with a Gate. A clear counts only with the Gate and its key found. */
export function gateState({ isGateFound, isKeyFound, isClear }: Flags): GateState {
  if (!isGateFound) return isKeyFound ? 'key_only' : 'undiscovered'
  if (!isKeyFound) return 'locked'
  return isClear ? 'cleared' : 'open'
}

export interface GateStatus extends Gate {
  readonly gateName: string
  readonly state: GateState
}

/** The Gates of players, which are imported and then only read. Every method runs inside a transaction of the caller. */
export interface Gates {
  /** Sorted by gateId. */
  list(player: number): GateStatus[]
  /** Writes a Gate. The date of its first clear stays when it is cleared again. */
  put(player: number, gate: Gate, now: number): void
}

export function createGates(db: Database): Gates {
  const all = db.prepare('SELECT status FROM gates WHERE player = ? ORDER BY gate')
  const one = db.prepare('SELECT status FROM gates WHERE player = ? AND gate = ?')
  const put = db.prepare('INSERT OR REPLACE INTO gates VALUES (?, ?, ?)')

  return {
    list: (player) => all.all(player).map((row) => statusOf(JSON.parse(String(row.status)))),
    put(player, gate, now) {
      const old = one.get(player, gate.gateId)
      const before: Gate | null = old === undefined ? null : JSON.parse(String(old.status))
      put.run(player, gate.gateId, JSON.stringify({ ...gate, clearDate: clearDateOf(gate, before, now) }))
    },
  }
}

function clearDateOf(gate: Gate, before: Gate | null, now: number): string | null {
  if (gateState(gate) !== 'cleared') return gate.clearDate
  if (before !== null && gateState(before) === 'cleared') return before.clearDate
  return gate.clearDate ?? new Date(now).toISOString()
}

function statusOf({ gateId, ...rest }: Gate): GateStatus {
  return { gateId, gateName: NAMES[gateId] ?? `Gate ${gateId}`, state: gateState(rest), ...rest }
}
