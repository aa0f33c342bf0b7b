import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
import { openLineSink } from '../../src/observe/line-sink.ts'
import { tempFolder } from '../setup/at-end.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = tempFolder()
  file = join(folder, 'log')
})

const numbers = (count: number) => Array.from({ length: count }, (_, i) => `${i}\n`)

test('lines come out whole and in order, however many writes they take', async () => {
  const sink = openLineSink(file, { chunk: 100 })
  for (const [i, line] of numbers(20_000).entries()) {
    sink.write(line)
    if (i % 1000 === 0) await new Promise(setImmediate)
  }
  await sink.close()
  expect(readFileSync(file, 'utf8')).toBe(numbers(20_000).join(''))
})

test('nothing is written before the chunk is full, and then without being asked', async () => {
  const sink = openLineSink(file, { chunk: 10, flushMs: 60_000 })
  sink.write('1234\n')
  await new Promise(setImmediate)
  expect(readFileSync(file, 'utf8')).toBe('')
  sink.write('6789\n')
  await expect.poll(() => readFileSync(file, 'utf8')).toBe('1234\n6789\n')
  await sink.close()
})

test('a few lines do not wait for more than the flush time', async () => {
  const sink = openLineSink(file, { flushMs: 10 })
  sink.write('alone\n')
  await expect.poll(() => readFileSync(file, 'utf8')).toBe('alone\n')
  await sink.close()
})

test('a log with nothing to write does not wake its process', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] })
  const sink = openLineSink(file)
  expect(vi.getTimerCount()).toBe(0)
  sink.write('alone\n')
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(500)
  vi.useRealTimers()
  await sink.flush()
  expect(readFileSync(file, 'utf8')).toBe('alone\n')
  await sink.close()
})

test('characters beyond ASCII are not cut', async () => {
  const sink = openLineSink(file, { chunk: 3 })
  for (let i = 0; i < 1000; i++) sink.write('配额 ✓\n')
  await sink.close()
  expect(readFileSync(file, 'utf8')).toBe('配额 ✓\n'.repeat(1000))
})

test('texts of any length keep their order', async () => {
  // They are 18 MB: by default what a slow disk leaves waiting beyond 16 is dropped.
  const sink = openLineSink(file, { limit: 64 * 1024 * 1024 })
  const texts = Array.from({ length: 300 }, (_, i) => `${i} ${'配x'.repeat((i * 7919) % 30_000)}\n`)
  for (const [i, text] of texts.entries()) {
    sink.write(text)
    if (i % 7 === 0) await new Promise(setImmediate)
  }
  await sink.close()
  expect(readFileSync(file, 'utf8') === texts.join('')).toBe(true)
})

test('while the reader stalls the memory is bounded, and the loss is reported', async () => {
  let lost = 0
  const onLost = (count: number): void => {
    lost += count
  }
  const sink = openLineSink(file, { chunk: 1_000_000, flushMs: 60_000, limit: 100, onLost })
  for (let i = 0; i < 1000; i++) sink.write('0123456789\n')
  sink.write('those of a worker\ncome many at a time\n')
  await sink.close()
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  expect(lines).toHaveLength(11)
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
    level: 40,
    count: 992,
    msg: expect.stringContaining('dropped'),
  })
  expect(lost).toBe(992)
})

test('a loss is reported also if nothing comes after a text of more than a block', async () => {
  const sink = openLineSink(file, { chunk: 1_000_000, flushMs: 60_000, limit: 100 })
  sink.write(`${'x'.repeat(100_000)}\n`)
  sink.write('lost\n')
  await sink.close()
  const [long = '', told = ''] = readFileSync(file, 'utf8').split('\n')
  expect(long).toHaveLength(100_000)
  expect(JSON.parse(told)).toMatchObject({ count: 1 })
})

test('lines that wait are written chunk after chunk, also if no line follows and nobody asks', async () => {
  const sink = openLineSink(file, { flushMs: 60_000 })
  for (const line of numbers(100_000)) sink.write(line)
  const { length } = numbers(100_000).join('')
  await expect.poll(() => readFileSync(file).length).toBeGreaterThan(length - 65_536)
  await sink.close()
})

test('a destination that cannot be written is given up without an exception', async () => {
  const lost: number[] = []
  const sink = openLineSink(999_999, { onLost: (lines) => lost.push(lines) })
  // Those under way, the blocks behind them, and what fills up.
  const lines = numbers(100_000)
  for (const line of lines) sink.write(line)
  await sink.flush()
  expect(lost).toEqual([lines.length])
  sink.write('lost\ntoo\n')
  await sink.close()
  expect(lost).toEqual([lines.length, 2])
})

test('a line that comes after the end is not written into whatever has the number of the file by then', async () => {
  const sink = openLineSink(file, { chunk: 1 })
  await sink.close()
  const other = join(folder, 'other')
  const fd = openSync(other, 'a')
  sink.write('late\n')
  await sink.flush()
  closeSync(fd)
  expect([file, other].map((path) => readFileSync(path, 'utf8'))).toEqual(['', ''])
})

const PROGRAM = `
  import { openLineSink } from ${JSON.stringify(new URL('../../src/observe/line-sink.ts', import.meta.url).href)}
  const sink = openLineSink(1)
  process.on('exit', () => sink.flushSync())
`

/** Runs its arguments on a terminal of which it reads nothing, and ends with their exit code. */
const HELD_TERMINAL = `
import os, pty, sys
child, terminal = pty.fork()
if child == 0: os.execv(sys.argv[1], sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
`

function run(code: string) {
  return spawn(process.execPath, ['--input-type=module-typescript', '-e', PROGRAM + code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

test('a process that exits in the middle of a write loses no line', async () => {
  const child = run(`for (let i = 0; i < 30_000; i++) sink.write(i + '\\n')\nprocess.exit(3)`)
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part) => {
    text += part
  })
  const [code] = await once(child, 'close')
  expect(code).toBe(3)
  expect(
    text
      .trimEnd()
      .split('\n')
      .map(Number)
      .sort((a, b) => a - b),
  ).toEqual(Array.from({ length: 30_000 }, (_, i) => i))
})

test('a process that dies of an exception still writes what it knew', async () => {
  const child = spawn(process.execPath, [
    '--input-type=module-typescript',
    '-e',
    `${PROGRAM}sink.write('last words\\n'); throw new Error('fatal')`,
  ])
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part) => {
    text += part
  })
  const [code] = await once(child, 'close')
  expect([code, text]).toEqual([1, 'last words\n'])
})

/** Both ends of a pipe that answers EAGAIN when it is full or empty. */
function openPipe() {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { path, reader, writer: openSync(path, constants.O_WRONLY | constants.O_NONBLOCK) }
}

function readSome(fd: number): string {
  const bytes = Buffer.alloc(1_000_000)
  try {
    return bytes.toString('utf8', 0, readSync(fd, bytes))
  } catch {
    return ''
  }
}

const MANY = numbers(60_000)

test('a full pipe is waited for', async () => {
  const { reader, writer } = openPipe()
  const sink = openLineSink(writer)
  for (const line of MANY) sink.write(line)
  const flushed = sink.flush()
  let text = ''
  await vi.waitFor(
    () => {
      text += readSome(reader)
      expect(text.length).toBe(MANY.join('').length)
    },
    { timeout: 30_000, interval: 10 },
  )
  await flushed
  await sink.close()
  expect(text).toBe(MANY.join(''))
  closeSync(reader)
  closeSync(writer)
})

test('a full pipe is waited for at the end of the process too', async () => {
  const { path, reader, writer } = openPipe()
  const child = run(`
    import { constants, openSync } from 'node:fs'
    const pipe = openLineSink(openSync(${JSON.stringify(path)}, constants.O_WRONLY | constants.O_NONBLOCK), { chunk: 1e9, flushMs: 1e6 })
    for (let i = 0; i < 60_000; i++) pipe.write(i + '\\n')
    pipe.flushSync()
    process.exit(5)`)
  let text = ''
  const timer = setInterval(() => {
    text += readSome(reader)
  }, 20)
  const [code] = await once(child, 'exit')
  clearInterval(timer)
  text += readSome(reader)
  expect(code).toBe(5)
  expect(text).toBe(MANY.join(''))
  closeSync(reader)
  closeSync(writer)
})

test('a reader that takes nothing more does not keep the process for ever', () => {
  const { reader, writer } = openPipe()
  const sink = openLineSink(writer, { chunk: 1e9, flushMs: 1e6 })
  for (const line of MANY) sink.write(line)
  sink.flushSync()
  expect(readSome(reader)).toMatch(/^0\n1\n/)
  closeSync(reader)
  closeSync(writer)
})

test.each([
  ['its log closes', 'await sink.close(); process.exit(6)'],
  ['it exits in the middle of a write', 'setTimeout(() => process.exit(6), 100)'],
])('a process whose reader stalls still ends if %s', async (_when, end) => {
  const path = join(folder, 'stalled')
  execFileSync('mkfifo', [path])
  // As a shell makes it: a write waits for the reader.
  const pipe = openSync(path, constants.O_RDWR)
  const code = `${PROGRAM}for (let i = 0; i < 60_000; i++) sink.write(i + '\\n')\nvoid sink.flush()\n${end}`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], {
    stdio: ['ignore', pipe, 'inherit'],
  })
  try {
    const [exitCode] = await once(child, 'exit')
    expect(exitCode).toBe(6)
    expect(readSome(pipe)).toMatch(/^0\n1\n/)
  } finally {
    child.kill('SIGKILL')
    closeSync(pipe)
  }
})

test.each([
  ['its log closes', 'await sink.close(); process.exit(6)'],
  ['it exits in the middle of a write', 'setTimeout(() => process.exit(6), 100)'],
])('a process whose log is a socket that nobody reads still ends if %s', async (_when, end) => {
  // Node makes a socket of what it calls a pipe to a child, and reads nothing of it unasked.
  const child = run(
    `const line = 'x'.repeat(1000) + '\\n'; for (let i = 0; i < 10_000; i++) sink.write(line)\nvoid sink.flush()\n${end}`,
  )
  try {
    const [exitCode] = await once(child, 'exit')
    expect(exitCode).toBe(6)
  } finally {
    child.kill('SIGKILL')
  }
})

test('a terminal that is held (Ctrl-S) does not keep the process', async () => {
  const code = `${PROGRAM}for (let i = 0; i < 60_000; i++) sink.write(i + '\\n')\nvoid sink.flush()\nawait sink.close()\nprocess.exit(6)`
  const holder = spawn('python3', ['-c', HELD_TERMINAL, process.execPath, '--input-type=module-typescript', '-e', code])
  try {
    const [exitCode] = await once(holder, 'exit')
    expect(exitCode).toBe(6)
  } finally {
    holder.kill('SIGKILL')
  }
})

test('a process whose reader has gone still ends', async () => {
  const child = run(
    `process.stdin.destroy(); setTimeout(() => { sink.write('nobody reads this\\n'); process.exit(4) }, 200)`,
  )
  child.stdout.destroy()
  const [code] = await once(child, 'exit')
  expect(code).toBe(4)
})
