import { isSoft } from '../../quota/limit-value.ts'

/** The differences of two JSON values, leaf by leaf, for the audit. A soft limit is one leaf. */

export interface Difference {
  /** The path of the leaf, with dots; empty if the values differ as a whole. */
  readonly path: string
  /** `undefined` if there was or is nothing. */
  readonly from: unknown
  readonly to: unknown
}

export function differences(from: unknown, to: unknown, path = ''): Difference[] {
  if (!isMap(from) && !isMap(to)) return same(from, to) ? [] : [{ path, from: some(from), to: some(to) }]
  const keys = [...new Set([...keysOf(from), ...keysOf(to)])].sort()
  return keys.flatMap((key) =>
    differences(memberOf(from, key), memberOf(to, key), path === '' ? key : `${path}.${key}`),
  )
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isSoft(value)
}

function keysOf(value: unknown): string[] {
  return isMap(value) ? Object.keys(value) : []
}

function memberOf(value: unknown, key: string): unknown {
  return isMap(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

function some(value: unknown): unknown {
  return value === null || isMap(value) ? undefined : value
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a ?? null) === JSON.stringify(b ?? null)
}
