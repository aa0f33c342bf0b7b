import { forgetPeak, residentMemory } from '../cpu.ts'
import { noGrowth } from '../figures.ts'
import { type Load, saturate } from '../load.ts'
import { type Column, PROXY, RATE, REDIS, sampleTable, TOGETHER, table } from '../report.ts'
import { measureRounds, type Row } from '../rows.ts'
import type { Running } from '../servers.ts'
import type { Bench, Group } from './group.ts'

interface Size {
  readonly name: string
  readonly file: string
  readonly bytes: number
  readonly connections: number
}

// Few connections for large bodies: requests under way at the end cost CPU time and are not counted.
const SIZES: readonly Size[] = [
  { name: '1 KB', file: '1k', bytes: 1000, connections: 64 },
  { name: '100 KB', file: '100k', bytes: 100_000, connections: 16 },
  { name: '10 MB', file: '10m', bytes: 10_000_000, connections: 4 },
]
const STREAMING_CONNECTIONS = 16

const PER_MEGABYTE: Column = {
  title: 'For 1 MB',
  digits: 1,
  of: ({ total }, { bytes = 0 }) => (bytes < 100_000 ? null : (total / bytes) * 1e6),
}

const DIRECTIONS = ['download', 'upload'] as const
type Direction = (typeof DIRECTIONS)[number]

/** Bodies in both directions, charged like any request. */
export const bodies: Group = async (bench) => {
  const { stage, requests } = bench
  const [redis, upstream] = [await stage.redis(), await stage.upstream(SIZES)]
  const servers = [
    { name: 'gateway', server: await stage.gateway({ upstream, store: redis }), redis },
    { name: 'nginx + Lua', server: await stage.nginx({ upstream, redis, known: requests.known }), redis },
    { name: 'http-proxy-3, no quota', server: await stage.httpProxy(upstream) },
  ]
  const rows = SIZES.flatMap((size) =>
    DIRECTIONS.flatMap((direction) =>
      servers.map(({ name, ...row }): Row => {
        const load = loadOf(bench, row.server, size, direction)
        return { ...row, name: `${name}, ${size.name} ${direction}`, load, bytes: size.bytes }
      }),
    ),
  )
  const samples = await measureRounds(rows, { ...bench, seconds: 1 })
  const streams = await stream(bench, servers[0]?.server as Running)
  return {
    title: 'Bodies',
    intro: 'An accepted charge with a body, access log off; CPU for one request, in microseconds:',
    lines: [
      ...sampleTable(samples, [RATE, PROXY, REDIS, TOGETHER, PER_MEGABYTE]),
      '',
      `Resident memory of the gateway while ${STREAMING_CONNECTIONS} connections stream bodies of 10 MB:`,
      '',
      ...memoryTable(streams),
    ],
    figures: streams.map(({ direction, halves: [first, second] }) =>
      noGrowth(`peak of resident memory, ${direction}s of 10 MB, second half of the time against the first`, [
        second / first,
      ]),
    ),
  }
}

function loadOf({ requests }: Bench, { port }: Running, size: Size, direction: Direction): Load {
  const [method, path] = direction === 'upload' ? ['POST', '/upload'] : ['GET', `/files/${size.file}`]
  const body = direction === 'upload' ? size.bytes : 0
  return { port, requests: requests.byUsers(method as string, path as string, 16), connections: size.connections, body }
}

interface Stream {
  readonly direction: Direction
  readonly before: number
  /** Peaks in the two halves of the time. */
  readonly halves: readonly [number, number]
  readonly after: number
  /** Bytes of all bodies. */
  readonly bytes: number
}

/** Measures memory while bodies are streamed. The kernel itself keeps the peak, so no peak is missed. */
async function stream(bench: Bench, gateway: Running): Promise<Stream[]> {
  const size = SIZES.at(-1) as Size
  const result: Stream[] = []
  for (const direction of DIRECTIONS) {
    const load = { ...loadOf(bench, gateway, size, direction), connections: STREAMING_CONNECTIONS }
    const before = residentMemory(gateway.pid).now
    let bytes = 0
    const peakOfHalf = async (): Promise<number> => {
      forgetPeak(gateway.pid)
      const { requests } = await saturate(load, bench.seconds * 2)
      bytes += requests * size.bytes
      return residentMemory(gateway.pid).peak
    }
    const halves = [await peakOfHalf(), await peakOfHalf()] as const
    result.push({ direction, before, halves, after: residentMemory(gateway.pid).now, bytes })
  }
  return result
}

function memoryTable(streams: readonly Stream[]): string[] {
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`
  const row = ({ direction, before, halves, after, bytes }: Stream): string[] => [
    `${direction}, ${(bytes / 1e9).toFixed(1)} GB in all`,
    ...[before, ...halves, after].map(megabytes),
  ]
  return table(['Row', 'before', 'peak, first half', 'peak, second half', 'after'], streams.map(row))
}
