import { type ChartBody, type Fault, isError, parseBody } from './chart.ts'
import { createLocator, type Problem } from './problem.ts'

/** A `maidata.txt`: a song and its charts. */
export interface Maidata {
  readonly title: string
  readonly artist: string
  /** The charts without an error. */
  readonly charts: readonly SimaiChart[]
  /** The reasons why charts are missing, in the order of the file. An error in the file's head leaves no chart. */
  readonly errors: readonly Problem[]
  /** Parts that were skipped or read differently, in the order of the file; also of missing charts. */
  readonly warnings: readonly Problem[]
}

export interface SimaiChart extends ChartBody {
  /** 1 EASY, 2 BASIC, 3 ADVANCED, 4 EXPERT, 5 MASTER, 6 Re:MASTER, 7 ORIGINAL or utage. */
  readonly difficulty: number
  /** The level as it is displayed, such as `13+`; empty if the file does not have it. */
  readonly level: string
  readonly designer: string
  /** The time from the start of the music to the start of the chart, in seconds. */
  readonly first: number
  /** The warnings of the file's head and of this chart. */
  readonly warnings: readonly Problem[]
}

const DIFFICULTIES = [1, 2, 3, 4, 5, 6, 7]

/** The value of one `&key=`. */
interface Block {
  readonly value: string
  /** The offset of the value in the file. */
  readonly offset: number
}

/**
 * Reads a file. Never throws; all problems are reported at once. A key with `_x` is for difficulty x and takes the place
 * of the key without it. Keys without a meaning here are skipped, as players do.
 */
export function parseMaidata(text: string): Maidata {
  const head: Fault[] = []
  const blocks = readBlocks(text, head)
  const title = lineOf(blocks, 'title')
  if (title === '')
    head.push({ offset: blocks.get('title')?.offset ?? 0, problem: 'the song has no &title=', severity: 'error' })
  for (const difficulty of DIFFICULTIES) checkFirst(blocks, `first_${difficulty}`, head)
  checkFirst(blocks, 'first', head)
  const bodies = DIFFICULTIES.flatMap((difficulty) => readChart(blocks, difficulty))
  if (bodies.length === 0 && !head.some(isError))
    head.push({ offset: 0, problem: 'the file has no &inote_x=', severity: 'error' })
  const locate = createLocator(text)
  const located = (faults: readonly Fault[], severity: Fault['severity']) =>
    faults
      .filter((fault) => fault.severity === severity)
      .toSorted((a, b) => a.offset - b.offset)
      .map(({ offset, problem }) => ({ ...locate(offset), problem }))
  const isSound = !head.some(isError)
  const sound = isSound ? bodies.filter(({ faults }) => !faults.some(isError)) : []
  const all = [...head, ...bodies.flatMap(({ faults }) => faults)]
  return {
    title,
    artist: lineOf(blocks, 'artist'),
    charts: sound.map(({ chart, faults }) => ({ ...chart, warnings: located([...head, ...faults], 'warning') })),
    errors: located(all, 'error'),
    warnings: located(all, 'warning'),
  }
}

/**
 * A block begins with `&key=` at the beginning of a line and ends where the next one begins. Any other line that begins with &
 * belongs to the chart in which it stands. Outside of charts it ends the block, and is reported.
 */
function readBlocks(text: string, faults: Fault[]): Map<string, Block> {
  const blocks = new Map<string, Block>()
  const warn = (offset: number, problem: string) => faults.push({ offset, problem, severity: 'warning' })
  const lines = [...text.matchAll(/^[^\S\r\n]*&([^=\r\n]*)(=?)/gm)]
  let current = ''
  const heads = lines.filter(({ index, 0: head, 1: key = '', 2: equals }) => {
    const isHead = equals !== '' && key.trim() !== ''
    if (!isHead && current.startsWith('inote_')) return false
    current = isHead ? key.trim() : ''
    if (!isHead) warn(index + head.indexOf('&'), 'expected &key=value')
    return true
  })
  checkPreamble(text.slice(0, heads[0]?.index ?? text.length), warn)
  for (const [number, { index, 0: head, 1: key = '', 2: equals }] of heads.entries()) {
    const name = equals === '' ? '' : key.trim()
    if (name === '') continue
    const offset = index + head.length
    if (blocks.has(name)) warn(index + head.indexOf('&'), `&${name}= is there twice; the last one counts`)
    blocks.set(name, { value: text.slice(offset, heads[number + 1]?.index ?? text.length), offset })
  }
  return blocks
}

function checkPreamble(text: string, warn: (offset: number, problem: string) => void): void {
  for (const { index, 0: line } of text.matchAll(/[^\r\n]+/g)) {
    const content = line.replace(/^\uFEFF/, '').trim()
    if (content === '' || content.startsWith('||')) continue
    warn(index, 'expected &key=value')
    return
  }
}

/** The value of a key as one line, without lines that are comments; empty if there is none. */
function lineOf(blocks: ReadonlyMap<string, Block>, key: string): string {
  const lines = blocks.get(key)?.value.split(/\r\n|\r|\n/) ?? []
  const content = lines.filter((line) => !line.trimStart().startsWith('||')).map((line) => line.trim())
  return content.filter((line) => line !== '').join(' ')
}

/** A number of seconds, which may be negative. */
const SECONDS = /^[+-]?(?:\d{1,4}(?:\.\d{1,15})?|\.\d{1,15})$/

function checkFirst(blocks: ReadonlyMap<string, Block>, key: string, faults: Fault[]): void {
  const block = blocks.get(key)
  const value = lineOf(blocks, key)
  if (block === undefined || value === '' || SECONDS.test(value)) return
  const offset = block.offset + block.value.search(/\S/)
  faults.push({ offset, problem: '&first= is a number of seconds such as 1.234; read as 0', severity: 'warning' })
}

/** The chart of a difficulty with its faults; an empty list if the file has no such chart. */
function readChart(blocks: ReadonlyMap<string, Block>, difficulty: number) {
  const body = blocks.get(`inote_${difficulty}`)
  if (body === undefined || body.value.trim() === '') return []
  const own = (key: string) => lineOf(blocks, `${key}_${difficulty}`) || lineOf(blocks, key)
  const { chart, faults } = parseBody(body.value, body.offset)
  const level = lineOf(blocks, `lv_${difficulty}`)
  const first = own('first')
  return [
    {
      chart: { difficulty, level, designer: own('des'), first: SECONDS.test(first) ? Number(first) : 0, ...chart },
      faults,
    },
  ]
}
