import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, test } from 'vitest'
import { parse } from 'yaml'
import packageJson from '../../package.json' with { type: 'json' }
import { tempFolder } from '../setup/at-end.ts'
import { tool } from '../setup/deploy-tools.ts'

/** What runs on a public forge cannot run here: its checker reads it, and what it names is there. */

const FOLDER = '.github/workflows'
const WORKFLOWS = readdirSync(FOLDER)
const textOf = (name: string) => readFileSync(join(FOLDER, name), 'utf8')

const broken = tempFolder()

describe('the workflows', () => {
  test('the workflows have nothing that their checker complains of', () => {
    expect(execFileSync(tool('actionlint'), ['-no-color'], { encoding: 'utf8' })).toBe('')
  })

  test('the workflows would be refused with an expression that names nothing', () => {
    mkdirSync(join(broken, FOLDER), { recursive: true })
    const file = join(broken, FOLDER, 'test.yml')
    writeFileSync(file, textOf('test.yml').replace('matrix.server }}\n    runs-on', 'matrix.sever }}\n    runs-on'))
    const { status, stdout } = spawnSync(tool('actionlint'), ['-no-color', file], { encoding: 'utf8' })
    expect([status, stdout]).toEqual([1, expect.stringContaining('"sever"')])
  })

  it.each(WORKFLOWS)('%s takes each foreign action by the hash of a commit', (name) => {
    const actions = [...textOf(name).matchAll(/uses: (\S+)/g)].map(([, action = '']) => action)
    expect(actions.length).toBeGreaterThan(0)
    expect(actions.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([])
  })

  it.each(WORKFLOWS)('%s runs scripts that package.json has', (name) => {
    const scripts = [...textOf(name).matchAll(/npm run ([\w:]+)/g)].map(([, script = '']) => script)
    expect(scripts.filter((script) => !(script in packageJson.scripts))).toEqual([])
  })

  test('try every Redis that the documents say is supported, and the oldest Node that the package admits', () => {
    const { jobs } = parse(textOf('test.yml'))
    expect(jobs.stores.strategy.matrix.server).toEqual(['redis:6.2', 'redis:7.2', 'redis:8', 'valkey/valkey:8'])
    const oldest = /\d+/.exec(packageJson.engines.node)?.[0]
    expect(jobs.built.strategy.matrix.node).toContain(oldest)
  })
})
