import { parsePattern } from '../config/pattern.ts'
import type { Journal } from '../replay/journal.ts'
import { createRouteTable, type RoutePattern } from '../routing/route-table.ts'
import { addPath, newTree, type Step } from './path-tree.ts'
import { rulesOf, type SuggestedRule } from './route-map.ts'
import { senderOf, stepsOf } from './survey.ts'

/** The suggested file folds paths like this. */
const FOLDING = { case: true, trailingSlash: true, trailingDots: false }

/**
 * Rules for the failed requests that no suggested rule matches. The most frequent paths come first.
 * Nobody got anything at these paths, which scanners try.
 */
export function failedRules(journal: Journal, rules: readonly SuggestedRule[], names: number): SuggestedRule[] {
  const table = createRouteTable(rules.map(patternOf), FOLDING)
  const tree = newTree()
  journal.forEach((entry) => {
    const steps = entry.failed === true ? stepsOf(entry) : null
    if (steps === null || typeof steps === 'string') return
    const found = table.lookup(entry.method, pathOf(steps))
    if (found === null || !('rule' in found)) addPath(tree, steps, entry.method, senderOf(entry))
  })
  return [...rulesOf(tree, names)].sort((a, b) => b.requests - a.requests)
}

function patternOf({ match }: SuggestedRule): RoutePattern {
  const reading = parsePattern(match)
  if ('problem' in reading) throw new Error(`${match} ${reading.problem}`)
  return reading.value
}

/** A path of these steps. */
function pathOf(steps: readonly Step[]): string {
  return `/${steps.map((step) => (step.kind === 'text' ? step.text : 'any')).join('/')}`
}
