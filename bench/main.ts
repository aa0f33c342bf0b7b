import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Checkout, checkoutOf, measuredOn } from './checkout.ts'
import { watchOthers } from './cpu.ts'
import { against } from './groups/against.ts'
import { attacks } from './groups/attacks.ts'
import { bodies } from './groups/bodies.ts'
import { callers } from './groups/callers.ts'
import { connections } from './groups/connections.ts'
import { cost } from './groups/cost.ts'
import { decisions } from './groups/decisions.ts'
import { footprint } from './groups/footprint.ts'
import type { Bench, Group } from './groups/group.ts'
import { latency } from './groups/latency.ts'
import { memory } from './groups/memory.ts'
import { organisations } from './groups/organisations.ts'
import { rates } from './groups/rates.ts'
import { reload } from './groups/reload.ts'
import { routes } from './groups/routes.ts'
import { stores } from './groups/stores.ts'
import { usage } from './groups/usage.ts'
import { users } from './groups/users.ts'
import { workers } from './groups/workers.ts'
import { createOpenLoop } from './load.ts'
import { describeMachine, ensurePackages, keepAwake, raisePriority } from './machine.ts'
import { memoryStep } from './memory.ts'
import { helpOf, type Options, optionsOf } from './options.ts'
import { endAll } from './processes.ts'
import { PROFILES, profile } from './profile.ts'
import { type Report, reportText, type Section, writeReport, writeSections } from './report.ts'
import { createRequests } from './requests.ts'
import { createStage } from './servers.ts'

/** `npm run bench`: the cost of a request, side by side. docs/contributing/benchmarks-tables.md explains the result. */

const GROUPS: Readonly<Record<string, Group>> = {
  cost,
  rates,
  latency,
  memory,
  bodies,
  routes,
  reload,
  users,
  organisations,
  usage,
  connections,
  stores,
  workers,
  callers,
}

/** Not in a whole run: these groups need the result of `npm run build`, an earlier commit, or the proxies of the guides. */
const ON_REQUEST: Readonly<Record<string, Group>> = { footprint, attacks, decisions }

let interrupted = false

const PAGE = new URL('../docs/contributing/benchmarks-tables.md', import.meta.url)

/** The share of all cores from which other work spoils a result. Latency suffers first: waiting for a core takes milliseconds. */
const TOO_BUSY = 0.1

async function measureGroups(
  options: Options,
  other: Checkout | null,
  within: Within,
  priority: string,
): Promise<Report> {
  const { rounds, seconds, only, awake } = options
  const chosen = only === null ? GROUPS : { ...GROUPS, ...ON_REQUEST }
  const groups = other === null || only !== null ? chosen : { against: against(other) }
  const sections: Section[] = []
  const machine = [...describeMachine(), priority, ...(awake ? ['Cores that idle are kept awake'] : [])]
  for (const [name, group] of Object.entries(groups)) {
    if (only !== null && name !== only) continue
    const before = memoryStep()
    const others = watchOthers()
    const begin = performance.now()
    const section = await within(group).catch((error: unknown) => notMeasured(name, error, only))
    const share = others()
    const verdict = share > TOO_BUSY ? ': too busy to quote or to judge a bound by.' : '.'
    const busy = `Other work took ${(share * 100).toFixed(0)} % of the machine meanwhile${verdict}`
    const step = `A step through 4 MB of memory took ${before.toFixed(0)} ns before and ${memoryStep().toFixed(0)} after.`
    const intro = `${measuredOn()}.\n\n${section.intro}`
    sections.push({ ...section, intro, lines: [...section.lines, '', `${busy} ${step}`] })
    process.stderr.write(`${name}: ${((performance.now() - begin) / 1000).toFixed(0)} s\n`)
  }
  const how = `${rounds} rounds of ${seconds} s for each row where its table says nothing else, 1 s for bodies and connections; medians; smallest and largest value in brackets`
  return { conditions: [...machine, how], sections }
}

/** The section of a group that failed. In a run of all groups those that were measured before must not be lost. */
function notMeasured(name: string, error: unknown, only: string | null): Section {
  if (interrupted || only !== null) throw error
  process.exitCode = 1
  const why = error instanceof Error ? error.message : String(error)
  process.stderr.write(`bench: ${name}: ${why}\n`)
  return { title: name, intro: `This group could not be measured: ${why}`, lines: [] }
}

/** Runs an action with its own servers, and stops them. */
type Within = <T>(action: (bench: Bench) => Promise<T>) => Promise<T>

function withinFolder(folder: string, options: Options): Within {
  const openLoop = createOpenLoop(folder)
  const requests = createRequests(folder)
  return async (action) => {
    const own = mkdtempSync(join(folder, 'group-'))
    const stage = createStage(own)
    try {
      return await action({ ...options, stage, requests, openLoop })
    } finally {
      await stage.stop()
      rmSync(own, { recursive: true, force: true }) // The access logs of a group may take a gigabyte and more.
    }
  }
}

async function main(): Promise<void> {
  const choices = { groups: Object.keys({ ...GROUPS, ...ON_REQUEST }), profiles: PROFILES }
  const given = optionsOf(process.argv.slice(2), choices)
  if (given === null) return console.log(helpOf(choices))
  ensurePackages()
  if (given.awake) keepAwake()
  const priority = raisePriority()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'))
  try {
    const other = given.against === null ? null : checkoutOf(given.against, mkdtempSync(join(folder, 'other-')))
    const within = withinFolder(folder, given)
    const { profile: row, only, write } = given
    if (row !== null) return console.log(await within((bench) => profile(row, bench)))
    const report = await measureGroups(given, other, within, priority)
    console.log(reportText(report))
    if (write) (only === null ? writeReport : writeSections)(PAGE, report)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

// A signal makes the running measurement fail, and everything is cleaned up as after any failure. A second one ends at once.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (interrupted) process.exit(1)
    interrupted = true
    endAll()
  })
}

try {
  await main()
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}
