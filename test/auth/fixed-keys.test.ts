import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keysFromFile, keysFromSecrets } from '../../src/auth/fixed-keys.ts'
import { tempFolder } from '../setup/at-end.ts'
import { ecKey, keySet, rsaKey } from './support.ts'

const folder = tempFolder()

async function file(name: string, content: unknown): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

it('a key set in a file is read once, at the start', async () => {
  const path = await file('good.json', keySet(ecKey('a')))
  const source = await keysFromFile(path, ['ES256'])
  await file('good.json', 'gone')
  expect(await source.find('ES256', 'a')).toMatchObject({ is: 'keys' })
  expect(await source.find('ES256', 'b')).toEqual({ is: 'unknown' })
})

it('a key set in a file that is missing, or no key set, is an error with its name', async () => {
  const missing = join(folder, 'missing.json')
  await expect(keysFromFile(missing, ['ES256'])).rejects.toThrow(`${missing}: ENOENT`)
  for (const content of ['', 'x', '[]', '{}']) {
    const path = await file('bad.json', content)
    await expect(keysFromFile(path, ['ES256'])).rejects.toThrow(`cannot use key set ${path}`)
  }
})

it('a key set in a file that is no JSON is an error of one line with the place and the cure, and shows nothing of it', async () => {
  const path = await file('broken.json', '{"keys":[{"d":\nCANARY"}]}')
  await expect(keysFromFile(path, ['ES256'])).rejects.toThrow(
    `cannot use key set ${path}: line 2, column 1: is not valid JSON: check commas, quotes and brackets there`,
  )
  await expect(keysFromFile(path, ['ES256'])).rejects.not.toThrow(/CANARY|\n/)
})

it('a key set in a file with a weak key is refused as a whole', async () => {
  const path = await file('weak.json', keySet(ecKey('a'), rsaKey('b', 1024)))
  await expect(keysFromFile(path, ['ES256'])).rejects.toThrow(/weak\.json is refused: key 2: RSA key of 1024 bits/)
})

it('a key set in a file with no key for the algorithms is an error', async () => {
  const path = await file('other.json', keySet(ecKey('a')))
  await expect(keysFromFile(path, ['RS256', 'PS256'])).rejects.toThrow(/has no key for RS256, PS256/)
})

describe('a shared secret', () => {
  it.each([
    ['HS256', 32],
    ['HS384', 48],
    ['HS512', 64],
  ])('for %s has %i bytes at least', async (alg, bytes) => {
    expect(await (await keysFromSecrets(['x'.repeat(bytes)], [alg])).find(alg, undefined)).toMatchObject({ is: 'keys' })
    await expect(keysFromSecrets(['x'.repeat(bytes), 'x'.repeat(bytes - 1)], [alg])).rejects.toThrow(
      `secret of ${bytes - 1} bytes is too short`,
    )
  })

  it('a shared secret is measured in bytes, and never shown', async () => {
    await expect(keysFromSecrets(['ü'.repeat(16)], ['HS256'])).resolves.toBeDefined()
    await expect(keysFromSecrets(['canary'], ['HS256'])).rejects.not.toThrow(/canary/)
  })
})
