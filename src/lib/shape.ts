import { isObject } from './json.ts'

/** Whether a value that was read from JSON has a certain form. Members that the form does not name are allowed. */
export type Shape = (value: unknown) => boolean

export const isText: Shape = (value) => typeof value === 'string'
export const isFlag: Shape = (value) => typeof value === 'boolean'
export const isNumber: Shape = (value) => Number.isFinite(value)
/** A whole number, 0 or more, that no arithmetic rounds. */
export const isCount: Shape = (value) => Number.isSafeInteger(value) && (value as number) >= 0

/** The last moment that a `Date` can hold, in milliseconds since the epoch. */
const LAST_MOMENT = 8.64e15

/** Milliseconds since the epoch. */
export const isTime: Shape = (value) => isNumber(value) && Math.abs(value as number) <= LAST_MOMENT

export const orNull =
  (shape: Shape): Shape =>
  (value) =>
    value === null || shape(value)

export const optional =
  (shape: Shape): Shape =>
  (value) =>
    value === undefined || shape(value)

export const listOf =
  (shape: Shape): Shape =>
  (value) =>
    Array.isArray(value) && value.every((one) => shape(one))

/** An object with any names, and values of one form. */
export const mapOf =
  (shape: Shape): Shape =>
  (value) =>
    isObject(value) && Object.values(value).every((one) => shape(one))

export const oneOf =
  (values: readonly unknown[]): Shape =>
  (value) =>
    values.includes(value)

/** An object with these members. */
export function shapeOf(members: Readonly<Record<string, Shape>>): Shape {
  const entries = Object.entries(members)
  return (value) => isObject(value) && entries.every(([name, shape]) => shape(value[name]))
}
