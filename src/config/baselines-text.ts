import { isNode, parseDocument } from 'yaml'

/** A limit with the reason for it. */
export interface WrittenLimit {
  readonly scope: 'personal' | 'global'
  readonly category: string
  readonly window: string
  readonly limit: number
  /** Tokens that may pass beyond the limit. Default none. */
  readonly over?: number | undefined
  /** The reason, which becomes a comment of one line. */
  readonly why: string
}

/**
 * The text of a configuration with other baselines. Comments and environment variables stay, but blanks may change.
 * @param text a configuration without problems
 * @param head lines of a comment at the beginning of the result
 */
export function withBaselines(text: string, limits: readonly WrittenLimit[], head: readonly string[]): string {
  const document = parseDocument(text)
  const path = ['quota', 'baselines']
  document.setIn(path, document.createNode({}))
  for (const { scope, category, window, limit, over, why } of limits) {
    const place = [...path, scope, category]
    for (const map of [[...path, scope], place]) {
      if (!document.hasIn(map)) document.setIn(map, document.createNode({}))
    }
    const value = document.createNode(over === undefined ? limit : { limit, over }, { flow: true })
    if (isNode(value)) value.comment = ` ${why}`
    document.setIn([...place, window], value)
  }
  return `${head.map((line) => `# ${line}\n`).join('')}\n${document.toString({ lineWidth: 0 })}`
}
