/** Whether a segment of a path is a name of the service, or one of many values. */

/** The longest name that stands in a rule, in characters. */
const LONGEST_NAME = 64

/** Characters that have no other meaning in a rule or in YAML. */
const PLAIN = /^[A-Za-z0-9_.~@-]+$/

/** Numbers, dates, UUIDs, ULIDs, hashes, mail addresses. */
const VALUES: readonly RegExp[] = [
  /^\d[\d.,_-]*$/,
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  /^(?=.*\d)[0-9a-f]{6,}$/i,
  /^(?=.*\d)[0-9a-z]{16,}$/i,
  /^[a-z]{1,12}[_-](?=\w*\d)\w{6,}$/i,
  /^(?=(?:.*\d){3})[\w-]{20,}$/,
  /@.*\./,
]

/** Whether a segment is one of many values, by its form alone. */
export function isValue(segment: string): boolean {
  return segment.length > LONGEST_NAME || VALUES.some((pattern) => pattern.test(segment))
}

/** Whether a rule can name the segment as it stands. */
export function isPlain(segment: string): boolean {
  return segment.length <= LONGEST_NAME && PLAIN.test(segment)
}
