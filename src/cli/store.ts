import { kindOf } from '../app/store-kinds/kinds.ts'
import { isInMemory, NOT_A_PREFIX, PREFIX, parseStore } from '../config/addresses.ts'
import type { StoreLocation } from '../config/config.ts'
import { substitute } from '../config/substitute.ts'
import { counted } from '../lib/counted.ts'
import { type Copied, type Copyable, copyStore } from '../store/copy.ts'
import { nameOf, reachable } from './config.ts'
import { readArguments } from './config-option.ts'
import { reportUnreadable } from './unreadable.ts'
import { UsageError } from './usage-error.ts'

const TEXT = { type: 'string' } as const
const PREFIX_OPTION = { type: 'string', default: 'tollgate' } as const

export async function store(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArguments(args, {
    from: TEXT,
    to: TEXT,
    'from-prefix': PREFIX_OPTION,
    'to-prefix': PREFIX_OPTION,
    force: { type: 'boolean', default: false },
  })
  if (positionals.join(' ') !== 'copy') throw new UsageError('store takes copy')
  const from = { location: locationOf('--from', values.from), prefix: prefixOf('--from-prefix', values['from-prefix']) }
  const to = { location: locationOf('--to', values.to), prefix: prefixOf('--to-prefix', values['to-prefix']) }
  if (isSameFile(from.location, to.location)) throw new UsageError('--from and --to are the same file')
  const isNew = kindOf(to.location).isYetToBeMade(to.location)
  const opened: Copyable[] = []
  let done = false
  try {
    const observe = reportUnreadable()
    const open = async (option: string, place: typeof from, exists: boolean): Promise<Copyable> => {
      const copyable = await kindOf(place.location).openCopyable(place, exists, observe)
      opened.push(copyable)
      await reachable(copyable, option)
      return copyable
    }
    // The target is opened last, because opening a file creates it.
    const stores = { from: await open('--from', from, true), to: await open('--to', to, false) }
    const copied = await copyStore({ ...stores, force: values.force, progress: progressLine() })
    done = true
    console.log(`copied ${nameOf(from.location)} to ${nameOf(to.location)}: ${summary(copied)}`)
    return 0
  } finally {
    for (const one of opened) await one.close()
    // A gateway would take the unfinished file for a store, and the next copy would refuse it because it is not empty.
    if (isNew && !done) kindOf(to.location).remove(to.location)
  }
}

/** Replaces variables of the environment, as in a configuration. Everybody on the machine could read a password in an argument. */
function locationOf(option: string, text: string | undefined): StoreLocation {
  if (text === undefined) throw new UsageError(`store copy needs ${option} URL`)
  const url = substitute(text, process.env)
  if ('problem' in url) throw new UsageError(`${option}: ${url.problem}`)
  const location = parseStore(url.value)
  if ('problem' in location) throw new UsageError(`${option} ${location.problem}`)
  if (isInMemory(location.value)) {
    throw new UsageError(`${option} is a store in memory, which holds nothing and ends with this command`)
  }
  return location.value
}

function prefixOf(option: string, text: string): string {
  if (!PREFIX.test(text)) throw new UsageError(`${option} ${NOT_A_PREFIX}`)
  return text
}

/** Compares files and not names, because SQLite would write two logs for one file under two links. */
function isSameFile(a: StoreLocation, b: StoreLocation): boolean {
  const file = kindOf(a).file(a)
  return file !== null && file === kindOf(b).file(b)
}

const PROGRESS_MS = 2000

function progressLine(): (copied: Copied) => void {
  let last = performance.now()
  return (copied) => {
    if (performance.now() - last < PROGRESS_MS) return
    last = performance.now()
    console.error(`so far: ${summary(copied)}`)
  }
}

function summary(copied: Copied): string {
  const { users = 0, organisations = 0, windows = 0, everybody = 0, known = 0, member = 0, tokens = 0 } = copied
  const { settings = 0, overrides = 0, organisationOverrides = 0, grants = 0, audit = 0 } = copied
  const { failures = 0, series = 0, refusals = 0 } = copied
  return [
    counted(users, 'user'),
    ...(organisations === 0 ? [] : [counted(organisations, 'organisation')]),
    `${counted(everybody, 'category', 'categories')} of all users together`,
    `${counted(windows, 'window')} in all`,
    ...(known === 0 ? [] : [counted(known, 'known user')]),
    ...(member === 0 ? [] : [`${counted(member, 'user')} with an organisation or a plan`]),
    counted(tokens, 'access key'),
    `settings ${settings > 0 ? 'changed' : 'as in the file'}`,
    counted(overrides, 'override'),
    ...(organisationOverrides === 0 ? [] : [`${counted(organisationOverrides, 'override')} of organisations`]),
    ...(grants === 0 ? [] : [counted(grants, 'grant')]),
    `${counted(audit, 'entry', 'entries')} of the audit`,
    `${counted(failures, 'half hour')} of failures`,
    ...(series === 0 ? [] : [`${counted(series, 'half hour')} of series`]),
    ...(refusals === 0 ? [] : [counted(refusals, 'refusal')]),
  ].join(', ')
}
