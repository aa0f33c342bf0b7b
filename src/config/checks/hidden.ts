import { type Finding, type Path, quote } from '../problems.ts'
import { counted, type Lookup, matches, type NumberedRule } from './lookup.ts'

/** Warns of rules that others hide, wholly or from the requests that they are written for. */
export function checkHidden(lookup: Lookup, lineOf: (path: Path) => number | null): Finding[] {
  const nameOf = ({ index, match }: NumberedRule) =>
    `${quote(match.match)} (line ${lineOf(['routes', index, 'match'])})`
  return lookup.rules.flatMap((rule): Finding[] => {
    const message = refused(rule, lookup) ?? hidden(rule, lookup, nameOf) ?? chargedPreflight(rule, lookup, nameOf)
    return message === null ? [] : [{ path: ['routes', rule.index, 'match'], severity: 'warning', message }]
  })
}

/** Spellings that `edge.allow_in_path` lets pass have a warning of their own. */
const ALLOWED_BY_NAME = new Set(['target_escaped_slash', 'target_empty_segment', 'target_semicolon'])

function refused({ match }: NumberedRule, { refusal, sample }: Lookup): string | null {
  const path = sample(match)
  const refused = refusal(path)
  if (refused === null || ALLOWED_BY_NAME.has(refused.code)) return null
  return `never matches: ${path} gets 400. ${refused.problem.replace(/\.$/, '')}: change it`
}

type NameOf = (rule: NumberedRule) => string

/** Only a last `*` can be hidden wholly: by rules for each number of segments that it stands for. */
function hidden(rule: NumberedRule, { rules, methods, find, sample }: Lookup, nameOf: NameOf): string | null {
  const { segments, methods: own } = rule.match
  if (segments.at(-1)?.kind !== 'rest') return null
  const deepest = Math.max(...rules.map(({ match }) => match.segments.length))
  const hiders = new Set<NumberedRule>()
  const text = sample({ ...rule.match, segments: [{ kind: 'rest' }] })
  const start = sample(rule.match).slice(0, -text.length)
  for (let more = 0; more <= deepest - segments.length + 2; more++) {
    for (const path of [`${start}${text.repeat(more)}/`, `${start}${text.repeat(more + 1)}`]) {
      for (const method of own === '*' ? methods : own) {
        const found = find(method, path)
        if (found === rule) return null
        if (found !== null && found !== 'unmatched') hiders.add(found)
      }
    }
  }
  const [first] = hiders
  if (first === undefined) return null
  const others = hiders.size === 1 ? '' : ` and ${counted(hiders.size - 1)}`
  return `never matches: ${nameOf(first)}${others} take every request. Remove it, or name other methods there`
}

/** A browser sends no credential with a preflight. */
function chargedPreflight(rule: NumberedRule, { rules, find, sample }: Lookup, nameOf: NameOf): string | null {
  if (!rule.public || rule.match.methods === '*' || !rule.match.methods.includes('OPTIONS')) return null
  const taken = rules.filter((other) => {
    if (other.public !== false || other.match.methods !== '*') return false
    const path = sample(other.match)
    return find('OPTIONS', path) === other && matches(rule, path)
  })
  const [first] = taken
  if (first === undefined) return null
  const path = sample(first.match)
  const shape = first.match.match.replace(/^\S+ +/, '')
  const others = taken.length === 1 ? '' : `, and likewise for ${counted(taken.length - 1)}`
  return `OPTIONS ${path} is matched by ${nameOf(first)}, so a browser's preflight gets 401: add { match: ${quote(`OPTIONS ${shape}`)}, public: true }${others}`
}
