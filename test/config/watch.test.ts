import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { hashText } from '../../src/config/hash.ts'
import { type ConfigWatch, type WatchOptions, watchConfig } from '../../src/config/watch.ts'
import { closedAtEnd, tempFolder } from '../setup/at-end.ts'

// It waits until a file rests.
vi.setConfig({ testTimeout: 60_000 })

/** Files in it have not changed for a while. */
const root = join(import.meta.dirname, '../..')

let folder: string
let file: string
let watching: ConfigWatch
const onChange = vi.fn()
beforeEach(() => {
  folder = tempFolder()
  file = join(folder, 'tollgate.yaml')
  onChange.mockClear()
})

/** Starts to watch a file that is known as it is; by then the folder is watched too. */
async function start(file: string, options: WatchOptions = {}): Promise<void> {
  const known = existsSync(file) ? { loadedHash: hashText(readFileSync(file, 'utf8')) } : {}
  watching = closedAtEnd(watchConfig(file, onChange, { debounceMs: 20, pollMs: 50, ...known, ...options }))
  await sleep(100)
}

/** As `start`, the file of the test with this content. */
function startWith(content: string, options?: WatchOptions): Promise<void> {
  writeFileSync(file, content)
  return start(file, options)
}

const calls = (count: number) => vi.waitFor(() => expect(onChange).toHaveBeenCalledTimes(count), { timeout: 30_000 })

/** Whether this process has a file open. */
function isOpen(file: string): boolean {
  return readdirSync('/proc/self/fd').some((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === file
    } catch {
      return false
    }
  })
}

/** Long enough for several looks. */
async function expectNoMore(count: number): Promise<void> {
  await sleep(300)
  expect(onChange).toHaveBeenCalledTimes(count)
}

describe('a watched file', () => {
  test('a watched file that a pipe takes the place of is noticed, and so is its return', async () => {
    await startWith('one', { missingMs: 20 })
    rmSync(file)
    execFileSync('mkfifo', [file])
    await calls(1)
    rmSync(file)
    writeFileSync(file, 'two')
    await calls(2)
  })

  test('a watched file that is written again is noticed, each time once', async () => {
    await startWith('a')
    await expectNoMore(0)
    writeFileSync(file, 'b')
    await calls(1)
    writeFileSync(file, 'c')
    await calls(2)
    await expectNoMore(2)
  })

  test('a watched file that is replaced by a rename is noticed', async () => {
    await startWith('a')
    writeFileSync(join(folder, 'new'), 'b')
    renameSync(join(folder, 'new'), file)
    await calls(1)
  })

  test('a watched file is noticed by its folder alone, without looking again and again', async () => {
    await startWith('a', { pollMs: 3_600_000 })
    writeFileSync(file, 'b')
    await calls(1)
  })

  test('a watched file behind a ConfigMap is noticed when the link of its folder is swapped', async () => {
    for (const [version, content] of ['a', 'b', 'c'].entries()) {
      mkdirSync(join(folder, `..v${version}`))
      writeFileSync(join(folder, `..v${version}`, 'tollgate.yaml'), content)
    }
    const point = (version: number) => {
      symlinkSync(`..v${version}`, join(folder, '..data_tmp'))
      renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
    }
    point(0)
    symlinkSync('..data/tollgate.yaml', file)
    await start(file, { pollMs: 3_600_000 })
    point(1)
    await calls(1)
    rmSync(join(folder, '..v0'), { recursive: true })
    point(2)
    await calls(2)
  })

  test('a watched file behind a link to another folder is noticed, although its own folder has no event of it', async () => {
    mkdirSync(join(folder, 'elsewhere'))
    writeFileSync(join(folder, 'elsewhere', 'real.yaml'), 'a')
    symlinkSync('elsewhere/real.yaml', file)
    await start(file)
    writeFileSync(join(folder, 'elsewhere', 'real.yaml'), 'b')
    await calls(1)
  })

  test('a watched file that has rested, and is read no more at each look, is noticed by its marks', async () => {
    mkdirSync(join(folder, 'elsewhere'))
    const link = join(folder, 'elsewhere', 'link.yaml')
    symlinkSync(join(root, 'LICENSE'), link)
    symlinkSync('elsewhere/link.yaml', file)
    await start(file)
    symlinkSync(join(root, 'package.json'), `${link}.new`)
    renameSync(`${link}.new`, link)
    await calls(1)
  })

  test('a watched file that is touched or written with the same content is no change', async () => {
    await startWith('a')
    utimesSync(file, new Date(), new Date(Date.now() + 5000))
    writeFileSync(file, 'a')
    await expectNoMore(0)
  })

  test('a watched file that is away for a moment is waited for', async () => {
    await startWith('a', { missingMs: 3_600_000 })
    rmSync(file)
    await expectNoMore(0)
    writeFileSync(file, 'b')
    await calls(1)
  })

  test('a watched file that stays away is reported once, and its return too, also with the same content', async () => {
    await startWith('a', { missingMs: 100 })
    rmSync(file)
    await calls(1)
    await expectNoMore(1)
    writeFileSync(file, 'a')
    await calls(2)
    await expectNoMore(2)
  })

  test('a watched file that changed between loading and watching is noticed', async () => {
    await startWith('b', { loadedHash: hashText('a') })
    await calls(1)
  })

  test('a watched file that is written in pieces is reported once, when it rests', async () => {
    await startWith('a', { debounceMs: 300 })
    writeFileSync(file, 'b')
    await sleep(150)
    writeFileSync(file, 'bc')
    await calls(1)
    await sleep(300)
    await expectNoMore(1)
  })

  test('a watched file that is replaced while it is being read is read again, by the event alone', async () => {
    // Read in many pieces, between which events come.
    writeFileSync(file, 'a'.repeat(16 * 1024 * 1024))
    writeFileSync(join(folder, 'new'), 'b')
    const loadedHash = hashText(readFileSync(file, 'utf8'))
    watching = closedAtEnd(watchConfig(file, onChange, { debounceMs: 20, pollMs: 3_600_000, loadedHash }))
    while (!isOpen(file)) await turn()
    renameSync(join(folder, 'new'), file)
    await calls(1)
  })

  test('a watched file is let go by close, even while a change is waiting to rest', async () => {
    await startWith('a', { debounceMs: 200 })
    writeFileSync(file, 'b')
    await sleep(100)
    watching.close()
    await expectNoMore(0)
    writeFileSync(file, 'c')
    await expectNoMore(0)
  })

  test('in a folder that does not exist yet is waited for', async () => {
    await start(join(folder, 'later', 'tollgate.yaml'))
    mkdirSync(join(folder, 'later'))
    writeFileSync(join(folder, 'later', 'tollgate.yaml'), 'a')
    await calls(1)
  })
})
