import type { Charged, MeterConfig, RouteConfig, Segment, UnmatchedConfig } from '../config/config.ts'
import { type Folding, foldLiteral } from '../routing/folding.ts'
import { createRouteTable } from '../routing/route-table.ts'
import { canonicalLiteral } from '../routing/target.ts'

/** Finds the operations of a document that the route map lets through, and their prices. */

/** A part of a path template, between two slashes. */
export type Part =
  /** The text in canonical form. */
  | { readonly kind: 'literal'; readonly text: string }
  /** `{id}`, or `{id}.json`. */
  | { readonly kind: 'variable'; readonly text: string; readonly matches: RegExp }

/** The credentials and the price of an operation. */
export interface Access {
  /** `null` if no route matches. */
  readonly route: RouteConfig | null
  /** `null` if the operation is public. */
  readonly charged: Pick<Charged, keyof MeterConfig | 'others'> | null
}

export interface Place {
  readonly parts: readonly Part[]
  readonly access: Access
}

export interface RouteMap {
  /**
   * The paths at which a template is let through, by method. If rules name some values of a parameter, each value has its
   * own place: with a rule for `/user/data` one place of `/user/{what}` is `/user/data`.
   */
  placesOf(template: readonly Part[]): (method: string) => Place[]
}

export function readTemplate(path: string): Part[] {
  return path.slice(1).split('/').map(readPart)
}

export function writePath(parts: readonly Part[]): string {
  return parts.map(({ text }) => `/${text}`).join('')
}

const VARIABLE = /\{[^{}]*\}/

function readPart(text: string): Part {
  if (!VARIABLE.test(text)) return { kind: 'literal', text: canonicalLiteral(text) }
  const between = text.split(new RegExp(VARIABLE, 'g')).map((literal) => asPattern(canonicalLiteral(literal)))
  return { kind: 'variable', text, matches: new RegExp(`^${between.join('.+')}$`) }
}

function asPattern(literal: string): string {
  return literal.replace(/[^\w%~-]/g, '\\$&')
}

export function createRouteMap(routes: readonly RouteConfig[], unmatched: UnmatchedConfig, folding: Folding): RouteMap {
  const table = createRouteTable(routes, folding)
  const rules = routes.map(({ segments }) => segments.map(canonical))

  function accessOf(method: string, parts: readonly Part[]): Access | null {
    // A variable can have any value. No literal of a rule has its braces, which are escaped in canonical form.
    const found = table.lookup(method, writePath(parts))
    if (found === null || !('rule' in found)) return accessUnmatched(unmatched)
    const { rule } = found
    return { route: rule, charged: rule.public ? null : rule }
  }

  return {
    placesOf(template) {
      const all = [template, ...rules.flatMap((rule) => narrowed(rule, template, folding))]
      const paths = new Map(all.map((parts) => [writePath(parts), parts]))
      return (method) =>
        [...paths.values()].flatMap((parts) => {
          const access = accessOf(method, parts)
          return access === null ? [] : [{ parts, access }]
        })
    },
  }
}

function canonical(segment: Segment): Segment {
  return segment.kind === 'literal' ? { kind: 'literal', text: canonicalLiteral(segment.text) } : segment
}

function accessUnmatched(unmatched: UnmatchedConfig): Access | null {
  if (unmatched.kind === 'refuse') return null
  return { route: null, charged: unmatched.kind === 'forward' ? null : unmatched }
}

/** The template with the literals of a rule in place of its parameters. Nothing if they have no path in common. */
function narrowed(rule: readonly Segment[], template: readonly Part[], folding: Folding): [] | [Part[]] {
  const parts: Part[] = []
  for (const [i, segment] of rule.entries()) {
    const part = template[i]
    if (part === undefined) return []
    if (segment.kind === 'rest') return [[...parts, ...template.slice(i)]]
    const both = meet(segment, part, folding)
    if (both === null) return []
    parts.push(both)
  }
  return rule.length === template.length ? [parts] : []
}

function meet(segment: Exclude<Segment, { kind: 'rest' }>, part: Part, folding: Folding): Part | null {
  if (segment.kind === 'param') return part.text === '' ? null : part
  const { text } = segment
  if (part.kind === 'variable') return part.matches.test(text) ? { kind: 'literal', text } : null
  return foldLiteral(part.text, folding) === foldLiteral(text, folding) ? part : null
}
