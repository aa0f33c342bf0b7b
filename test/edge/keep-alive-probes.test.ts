import { readFileSync } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { startApp, yaml } from '../e2e/harness.ts'
import { atEnd } from '../setup/at-end.ts'
import { listening } from '../setup/listening.ts'
import { BOTH_WAYS, connectTo, makeCertificates, upstreamUrl } from '../setup/ways.ts'

const certificates = makeCertificates()

/** Seconds until TCP asks whether the other end is there, of the end with such ports; `null` if it never does. */
function probeIn(local: number, remote: number): number | null {
  const port = (text = ''): number => Number.parseInt(text.split(':')[1] ?? '', 16)
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)) {
    const [, here, there, , , timer = ''] = line.trim().split(/\s+/)
    if (port(here) !== local || port(there) !== remote) continue
    const [kind, when = ''] = timer.split(':')
    return kind === '02' ? Number.parseInt(when, 16) / 100 : null
  }
  return null
}

describe.each(BOTH_WAYS)('a request that waits in silence, $name', (way) => {
  it('a request that waits in silence has TCP ask within a minute whether its client and its upstream are there', async () => {
    const upstream = certificates.server(way, () => {})
    const raw: Socket[] = []
    upstream.on('connection', (socket) => raw.push(socket))
    await listening(upstream)
    const rest = `unmatched: forward\n${certificates.listener(way)}`
    const app = await startApp(yaml(upstreamUrl(way, upstream), rest, undefined, certificates.upstream(way)))
    const client = connectTo(app.url)
    atEnd(() => client.destroy())
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(() => raw.length).toBe(1)
    const probes = () => [
      probeIn(Number(new URL(app.url).port), client.localPort ?? 0),
      probeIn(raw[0]?.remotePort ?? 0, (upstream.address() as AddressInfo).port),
    ]
    await expect.poll(() => probes().every((seconds) => seconds !== null && seconds <= 60)).toBe(true)
  })
})
