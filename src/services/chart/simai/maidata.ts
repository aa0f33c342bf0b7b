import { type ChartBody, type Fault, parseBody } from './chart.ts'
import { createLocator, type Problem } from './problem.ts'

/** A `maidata.txt`: a song and its charts. */
export interface Maidata {
  readonly title: string
  readonly artist: string
  /** Those without a problem. */
  readonly charts: readonly SimaiChart[]
  /** In the order of the file; one of the file's head leaves no chart. */
  readonly problems: readonly Problem[]
}

export interface SimaiChart extends ChartBody {
  /** 1 EASY, 2 BASIC, 3 ADVANCED, 4 EXPERT, 5 MASTER, 6 Re:MASTER, 7 utage. */
  readonly difficulty: number
  /** As displayed, such as `13+`; empty where the file does not say it. */
  readonly level: string
  readonly designer: string
  /** From the start of the music to the start of the chart, in seconds. */
  readonly first: number
}

const DIFFICULTIES = [1, 2, 3, 4, 5, 6, 7]

/** The value of one `&key=`. */
interface Block {
  readonly value: string
  /** Of the value in the file. */
  readonly offset: number
}

/**
 * Reads a file. Never throws; all problems are told at once. A key with `_x` is for difficulty x and beats the one without.
 * Keys that mean nothing here are passed over, as players do.
 */
export function parseMaidata(text: string): Maidata {
  const faults: Fault[] = []
  const blocks = readBlocks(text, faults)
  const title = lineOf(blocks, 'title')
  if (title === '') faults.push({ offset: blocks.get('title')?.offset ?? 0, problem: 'the song has no &title=' })
  for (const difficulty of DIFFICULTIES) checkFirst(blocks, `first_${difficulty}`, faults)
  checkFirst(blocks, 'first', faults)
  const isSound = faults.length === 0
  const charts = DIFFICULTIES.flatMap((difficulty) => readChart(blocks, difficulty, faults))
  if (isSound && charts.length === 0 && faults.length === 0)
    faults.push({ offset: 0, problem: 'the file has no &inote_x=' })
  const locate = createLocator(text)
  const problems = faults.toSorted((a, b) => a.offset - b.offset)
  return {
    title,
    artist: lineOf(blocks, 'artist'),
    charts: isSound ? charts : [],
    problems: problems.map(({ offset, problem }) => ({ ...locate(offset), problem })),
  }
}

/** A block begins with `&key=` at the beginning of a line and ends where the next one begins. */
function readBlocks(text: string, faults: Fault[]): Map<string, Block> {
  const blocks = new Map<string, Block>()
  const heads = [...text.matchAll(/^[^\S\r\n]*&([^=\r\n]*)(=?)/gm)]
  checkPreamble(text.slice(0, heads[0]?.index ?? text.length), faults)
  for (const [number, { index, 0: head, 1: key = '', 2: equals }] of heads.entries()) {
    const offset = index + head.length
    const at = index + head.indexOf('&')
    if (equals === '' || key.trim() === '') faults.push({ offset: at, problem: 'expected &key=value' })
    else if (blocks.has(key.trim())) faults.push({ offset: at, problem: `&${key.trim()}= is there twice` })
    else blocks.set(key.trim(), { value: text.slice(offset, heads[number + 1]?.index ?? text.length), offset })
  }
  return blocks
}

function checkPreamble(text: string, faults: Fault[]): void {
  for (const { index, 0: line } of text.matchAll(/[^\r\n]+/g)) {
    const content = line.replace(/^\uFEFF/, '').trim()
    if (content === '' || content.startsWith('||')) continue
    faults.push({ offset: index, problem: 'expected &key=value' })
    return
  }
}

/** A value of one line; lines that are comments are none of it. */
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
  faults.push({ offset, problem: '&first= is a number of seconds such as 1.234' })
}

/** None where the file has no such chart, and none where it has a problem. */
function readChart(blocks: ReadonlyMap<string, Block>, difficulty: number, faults: Fault[]): SimaiChart[] {
  const body = blocks.get(`inote_${difficulty}`)
  if (body === undefined || body.value.trim() === '') return []
  const own = (key: string) => lineOf(blocks, `${key}_${difficulty}`) || lineOf(blocks, key)
  const { chart, faults: found } = parseBody(body.value, body.offset)
  faults.push(...found)
  if (found.length > 0) return []
  const level = lineOf(blocks, `lv_${difficulty}`)
  return [{ difficulty, level, designer: own('des'), first: Number(own('first')), ...chart }]
}
