import { parseArgs } from 'node:util'
import { checkPairs } from '../app/certificate.ts'
import { tryConnections } from '../app/connect/connect.ts'
import { limitLines } from '../app/limit-lines.ts'
import { tryRuntime } from '../app/runtime.ts'
import { kindOf } from '../app/store-kinds/kinds.ts'
import { metersIn, type RouteConfig } from '../config/config.ts'
import { problemAt } from '../config/load.ts'
import { type Finding, formatPath, formatProblems } from '../config/problems.ts'
import { TIME_ZONE } from '../config/time-zone.ts'
import { type AskedPrice, cheapest, dearest } from '../inputs/price.ts'
import { counted } from '../lib/counted.ts'
import { freeBy } from '../routing/final-cost.ts'
import { type Loaded, loadOrReport, setupProblem } from './config.ts'
import { CONFIG_OPTION, configFile } from './config-option.ts'
import { callersLine, otherPathsLine } from './who-and-where.ts'

export async function check(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { ...CONFIG_OPTION, connect: { type: 'boolean', default: false } },
  })
  const file = configFile(values.config)
  const loaded = await loadOrReport(file)
  if (loaded === null) return 1
  const warn = ({ path, message }: Finding): void =>
    console.error(formatProblems([{ ...problemAt(loaded, path, message), severity: 'warning' }]))
  const { location } = loaded.config.store
  const unusable = values.connect ? null : await kindOf(location).whyUnusable(location)
  // Another machine may have what this one lacks.
  if (unusable !== null) warn({ path: ['store'], message: unusable })
  try {
    checkPairs(loaded.config).forEach(warn)
    await tryRuntime(loaded.config)
  } catch (error) {
    console.error(setupProblem(error, loaded))
    return 1
  }
  const { routes, quota, store, timeZone } = loaded.config
  for (const route of routes) if (!route.public) printCosts(file, route)
  const count = counted(routes.length, 'route')
  const named = quota.categories.length === 1 ? 'category' : 'categories'
  console.log(`${file}: ok (${count}, ${named} ${quota.categories.join(' and ')}, store ${store.location.kind})`)
  console.log(callersLine(loaded.config))
  console.log(otherPathsLine(loaded.config))
  const limits = limitLines(loaded.config)
  console.log(limits.length === 0 ? 'limits: none, as no route is charged' : `limits:\n  ${limits.join('\n  ')}`)
  if (quota.shadow) console.log('shadow: the quota refuses nobody (quota.shadow)')
  console.log(`times in messages: ${timeZone}${timeZone === TIME_ZONE ? ', the default of time_zone' : ''}`)
  return values.connect ? await connect(loaded) : 0
}

/** The lowest and the highest cost of a rule's requests. */
function rangeText(price: AskedPrice): string {
  const [least, most] = [cheapest(price), dearest(price)]
  return `${least} at the least and ${most} at the most${price.batch === null ? '' : `, in an array of ${price.batch}`}`
}

function printCosts(file: string, route: Exclude<RouteConfig, { readonly public: true }>): void {
  const { match, line, others } = route
  for (const { category, cost, settle } of metersIn(route)) {
    const of = others === null ? '' : ` in ${category}`
    const free = settle === null ? [] : freeBy(settle)
    if (free.length > 0) console.log(`${file}:${line} ${match} costs nothing${of} by settle: ${free.join(', ')}`)
    if (cost.kind === 'asked') console.log(`${file}:${line} ${match} costs ${rangeText(cost)}${of}`)
  }
}

/** Prints a line for each thing that a gateway needs. What fails is printed to standard error, as a problem of the file. */
async function connect(loaded: Loaded): Promise<number> {
  const tried = await tryConnections(loaded.config)
  for (const { path, result, message } of tried) {
    if (result === 'good') console.log(`${formatPath(path)}: ${message}`)
    else {
      const severity = result === 'failed' ? 'problem' : 'warning'
      console.error(formatProblems([{ ...problemAt(loaded, path, message), severity }]))
    }
  }
  return tried.some(({ result }) => result === 'failed') ? 1 : 0
}
