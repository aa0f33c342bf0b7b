import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { openCertificate } from '../src/certificate.ts'
import type { Observation } from '../src/observe/observation.ts'
import { makeCa } from './setup/openssl.ts'

it('the daily look at a certificate goes on where its key cannot be looked at any more', () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-certificate-'))
  const pair = makeCa(folder, 'one')
  const seen: Observation['type'][] = []
  const certificate = openCertificate(pair, 'gateway', ({ type }) => seen.push(type))
  try {
    rmSync(pair.keyFile)
    symlinkSync(pair.keyFile, pair.keyFile)
    seen.length = 0
    vi.advanceTimersByTime(24 * 60 * 60_000)
    expect(seen).toEqual(['certificate_loaded', 'certificate_expires'])
  } finally {
    certificate.close()
    vi.useRealTimers()
    rmSync(folder, { recursive: true })
  }
})
