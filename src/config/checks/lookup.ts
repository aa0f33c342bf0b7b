import { counted } from '../../lib/counted.ts'
import type { Folding } from '../../routing/folding.ts'
import { createRouteTable, type RouteTable } from '../../routing/route-table.ts'
import { canonicalLiteral, canonicalTarget, type TargetProblem } from '../../routing/target.ts'
import type { ParsedRoute, PartialConfig } from '../partial.ts'
import type { Pattern } from '../pattern.ts'
import { foldingOf } from '../schema/listen.ts'

/** A rule with its index in the file. */
export interface NumberedRule extends Partial<Omit<ParsedRoute, 'match'>> {
  readonly index: number
  readonly match: Pattern
}

export function otherRules(count: number): string {
  return counted(count, 'other rule')
}

/** Looks requests up in the route map like the gateway, for warnings about single requests. */
export class Lookup {
  readonly rules: readonly NumberedRule[]
  /** All methods that rules name, and one that no rule names. */
  readonly methods: readonly string[]
  /** The longest target of a request, in characters. */
  readonly maxUrl: number
  readonly #allowed: PathRules
  readonly #table: ReturnType<typeof tableOf>
  /** The number of segments in the longest rule. */
  readonly #deepest: number
  /** A text that appears in no rule. */
  readonly #fresh: string

  /** @param routes all with different shapes or methods */
  constructor({ routes, edge }: Pick<PartialConfig, 'routes' | 'edge'>) {
    this.rules = routes.flatMap((rule, index) =>
      rule.match === undefined ? [] : [{ ...rule, match: rule.match, index }],
    )
    const named = new Set(this.rules.flatMap(({ match }) => (match.methods === '*' ? [] : match.methods)))
    const unnamed = ['GET', 'POST', 'PURGE', 'MERGE', 'NOTIFY', 'LINK'].find((method) => !named.has(method))
    this.methods = [...named, ...(unnamed === undefined ? [] : [unnamed])]
    this.maxUrl = edge.max_url ?? Number.POSITIVE_INFINITY
    const allowed = edge.allow_in_path ?? { encodedSlash: true, emptySegment: true, semicolon: true }
    this.#allowed = { ...allowed, lenient: new Set<string>(edge.lenient) }
    this.#table = tableOf(this.rules, foldingOf(edge.match))
    this.#deepest = this.rules.reduce((most, { match }) => Math.max(most, match.segments.length), 0)
    this.#fresh = freshText(this.rules)
  }

  /** The rule for a request; `unmatched` if none matches; `null` if the gateway refuses the path or its spelling. */
  find(method: string, path: string): NumberedRule | 'unmatched' | null {
    const target = canonicalTarget(path, this.#allowed)
    if ('problem' in target) return null
    const found = this.#table.lookup(method, target.matched)
    if (found !== null && 'unclear' in found) return null
    return found !== null && 'rule' in found ? found.rule.rule : 'unmatched'
  }

  /** Why the gateway refuses a path, whatever the rules; `null` if it does not. */
  refusal(path: string): TargetProblem | null {
    const target = canonicalTarget(path, this.#allowed)
    return 'problem' in target ? target : null
  }

  /** Sample paths that a rule matches, with an unused text for each `:name`, and for `*` with any number of segments that matters. */
  *samples({ match: { segments } }: NumberedRule): Generator<string> {
    const fresh = this.#fresh
    const isOpen = segments.at(-1)?.kind === 'rest'
    const start = (isOpen ? segments.slice(0, -1) : segments)
      .map((segment) => `/${segment.kind === 'literal' ? canonicalLiteral(segment.text) : fresh}`)
      .join('')
    if (!isOpen) yield start
    for (let more = 0; isOpen && more < Math.max(this.#deepest - segments.length, 0) + 2; more++) {
      const middle = start + `/${fresh}`.repeat(more)
      yield `${middle}/${fresh}`
      yield `${middle}/`
    }
  }

  /** The first sample for which this rule is chosen with this method; `null` if more specific rules take all samples. */
  own(rule: NumberedRule, method: string): string | null {
    for (const path of this.samples(rule)) if (this.find(method, path) === rule) return path
    return null
  }
}

type PathRules = Parameters<typeof canonicalTarget>[1]

function tableOf(
  rules: readonly NumberedRule[],
  folding: Folding,
): RouteTable<Pattern & { readonly rule: NumberedRule }> {
  return createRouteTable(
    rules.map((rule) => ({ ...rule.match, rule })),
    folding,
  )
}

/** Whether a pattern matches a path for any of its methods. */
export function matches({ match }: NumberedRule, path: string): boolean {
  return createRouteTable([{ ...match, methods: '*' as const }]).lookup('GET', path) !== null
}

function freshText(rules: readonly NumberedRule[]): string {
  const texts = new Set(
    rules.flatMap(({ match }) => match.segments.map((segment) => (segment.kind === 'literal' ? segment.text : ''))),
  )
  let text = 'x'
  while (texts.has(text) || texts.has(text.toUpperCase())) text += 'x'
  return text
}
