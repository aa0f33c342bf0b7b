import type { Config } from '../config/config.ts'
import type { PlanRules } from '../gateway/plan.ts'
import type { Reference, Route } from '../gateway/snapshot.ts'
import { gatewayDocument } from '../reference/document.ts'
import { createReference } from '../reference/reference.ts'
import { UNMATCHED } from '../replicas/replica.ts'
import type { Price } from '../routing/price.ts'
import { createRouteTable } from '../routing/route-table.ts'

const known = new WeakMap<Config, Promise<PlanRules>>()

/**
 * Where a configuration sends requests: one object for the gateway and for `explain`. A table of 10,000 routes takes
 * many times as long to make as to look into.
 */
export function planRulesOf(config: Config): Promise<PlanRules> {
  const made = known.get(config) ?? make(config)
  known.set(config, made)
  return made
}

async function make(config: Config): Promise<PlanRules> {
  const { maxUrl, maxBody, allowInPath } = config.edge
  return {
    maxUrl,
    maxBody,
    paths: allowInPath,
    reference: await referenceOf(config),
    routes: createRouteTable(routesOf(config)),
    unmatched: unmatchedOf(config),
  }
}

async function referenceOf(config: Config): Promise<Reference | null> {
  const { reference } = config
  if (reference === null) return null
  const document = gatewayDocument({ config, path: reference.path, upstream: reference.document })
  return createReference({ config: reference, document })
}

/** Routes of one category and cost share what they charge, so that it stays in the processor's cache: 0.2 us of 10,000 routes in a random order. */
function routesOf({ routes }: Config): Route[] {
  const known = new Map<string, Route['tariff']>()

  function shared(category: string, price: Price): Route['tariff'] {
    const tariff = { category, price }
    if (price.kind !== 'fixed') return tariff
    const key = `${category} ${price.cost}`
    const first = known.get(key) ?? tariff
    known.set(key, first)
    return first
  }

  return routes.map((route) => {
    const { match, line, methods, segments, health, shadow, tunnelChargeMs } = route
    const tariff = route.public ? null : shared(route.category, route.cost)
    return { match, line, methods, segments, tariff, health, shadow, tunnelChargeMs }
  })
}

function unmatchedOf({ unmatched }: Config): Route | null {
  if (unmatched.kind === 'refuse') return null
  const base = {
    match: UNMATCHED,
    line: null,
    methods: '*',
    segments: [],
    health: 'charged',
    tunnelChargeMs: null,
  } as const
  if (unmatched.kind === 'forward') return { ...base, tariff: null, shadow: false }
  const { category, cost, shadow } = unmatched
  return { ...base, tariff: { category, price: cost }, shadow }
}
