import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openSqliteStore } from '../../src/store/sqlite/store.ts'

const run = promisify(execFile)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-check-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** @returns exit code and what was said, of a file whose store is named on its second line */
async function check(store: string, more = ''): Promise<[number, string]> {
  const file = join(folder, 'tollgate.yaml')
  writeFileSync(file, `upstream: { url: "http://127.0.0.1:9000" }\nstore: "${store}"\n${more}`)
  const { code, stdout, stderr } = await run(process.execPath, ['src/main.ts', 'check', '-c', file]).then(
    (said) => ({ code: 0, ...said }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )
  return [code, (stdout + stderr).replaceAll(folder, 'FOLDER').trimEnd()]
}

/** Nobody keeps the superuser from writing. */
const isRoot = process.getuid?.() === 0

describe('tollgate check', () => {
  test('takes a store that is there, and one that is still to be made, and makes none', async () => {
    const path = join(folder, 'tollgate.db')
    expect(await check(`sqlite:${path}`)).toEqual([0, expect.stringContaining('ok (')])
    expect(existsSync(path)).toBe(false)
    writeFileSync(path, '')
    expect(await check(`sqlite:${path}`)).toEqual([0, expect.stringContaining('ok (')])
    expect(await check('sqlite::memory:')).toEqual([0, expect.stringContaining('ok (')])
  })

  test('names a store whose folder does not exist, as serve would', async () => {
    expect(await check(`sqlite:${folder}/none/tollgate.db`)).toEqual([
      1,
      'FOLDER/tollgate.yaml:2:8 store: "FOLDER/none" cannot be written (ENOENT): name a file in a folder that exists and that the user of the gateway may write',
    ])
  })

  test('names a store that is no file', async () => {
    mkdirSync(join(folder, 'a'))
    expect(await check(`sqlite:${folder}/a`)).toEqual([
      1,
      'FOLDER/tollgate.yaml:2:8 store: "FOLDER/a" is not a regular file: name the file of the store',
    ])
    expect(await check(`sqlite:${folder}/tollgate.yaml/tollgate.db`)).toEqual([
      1,
      expect.stringContaining('2:8 store: "FOLDER/tollgate.yaml" cannot be written (ENOTDIR): name'),
    ])
  })

  test('names a store that is no database, and leaves it as it is', async () => {
    const path = join(folder, 'tollgate.db')
    writeFileSync(path, 'a file of somebody else')
    expect(await check(`sqlite:${path}`)).toEqual([
      1,
      'FOLDER/tollgate.yaml:2:8 store: "FOLDER/tollgate.db" is not a database: name one that Tollgate made, or a file that is yet to be made',
    ])
    expect(readFileSync(path, 'utf8')).toBe('a file of somebody else')
  })

  test('takes the store of a gateway that runs', async () => {
    const path = join(folder, 'tollgate.db')
    const store = openSqliteStore({ file: path })
    expect(await check(`sqlite:${path}`)).toEqual([0, expect.stringContaining('ok (')])
    await store.close()
  })

  test.skipIf(isRoot)('names a folder, and a file, that cannot be written', async () => {
    const path = join(folder, 'b', 'tollgate.db')
    mkdirSync(join(folder, 'b'))
    writeFileSync(path, '')
    chmodSync(path, 0o444)
    expect(await check(`sqlite:${path}`)).toEqual([
      1,
      expect.stringContaining('store: "FOLDER/b/tollgate.db" cannot be written (EACCES): name'),
    ])
    chmodSync(join(folder, 'b'), 0o555)
    expect(await check(`sqlite:${path}`)).toEqual([
      1,
      expect.stringContaining('store: "FOLDER/b" cannot be written (EACCES): name'),
    ])
  })

  test('tells it beside what else is wrong with files', async () => {
    writeFileSync(join(folder, 'keys.json'), '{}')
    const issuer = `{ issuer: "https://id.example.org", audience: a, jwks: "file:keys.json", algorithms: [ES256] }`
    const [code, said] = await check(`sqlite:${folder}/none/tollgate.db`, `auth: { jwt: [${issuer}] }\n`)
    expect(code).toBe(1)
    expect(said).toMatch(/:2:8 store: .*\n.*:3:\d+ auth\.jwt\[0\]\.jwks: /)
  })
})
