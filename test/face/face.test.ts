import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { collectFace, type Face } from './collect.ts'

/**
 * What users rely on changes only on purpose: `FACE=write npx vitest run test/face` writes it anew, and the difference belongs to
 * the commit and its line of the changelog. Configuration, bodies and services have golden files of their own.
 */
const FILE = join(import.meta.dirname, 'face.json')

test('error codes, metrics, log lines and the admin API are those of the golden file', async () => {
  const face = await collectFace()
  if (process.env.FACE === 'write') writeFileSync(FILE, `${JSON.stringify(face, null, 2)}\n`)
  expect(JSON.parse(JSON.stringify(face))).toEqual(JSON.parse(readFileSync(FILE, 'utf8')) as Face)
})
