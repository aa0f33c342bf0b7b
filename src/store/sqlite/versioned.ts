import type { Versioned } from '../../control/state.ts'
import type { Row } from './rows.ts'

/** Reads a row with the version and the JSON of a value. */
export function versionedBy<T>(parse: (value: unknown) => T | null): (row: Row) => Versioned<T> | null {
  return ({ version, value: text }) => {
    const value = typeof version === 'number' ? parse(jsonIn(text)) : null
    return value === null ? null : { version: version as number, value }
  }
}

/** @throws SyntaxError */
export function jsonIn(text: Row[string] | undefined): unknown {
  return JSON.parse(String(text))
}
