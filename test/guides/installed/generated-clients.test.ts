import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { tempFolder } from '../../setup/at-end.ts'
import { guideTool } from '../../setup/guides-tools.ts'
import { documentsOfClients } from '../documents.ts'

/** Clients that well-known generators make of the documents: each has every operation, and compiles. */

interface Operation {
  readonly operationId?: string
}

/** As docs/admin-api.md says for files of lines, which the generator takes as bytes. */
const OPTIONS = `post_hooks: []
content_type_overrides: { application/x-ndjson: application/octet-stream, text/csv: application/octet-stream }
`

/** Loads each module of a package. */
const LOAD = `import importlib, pkgutil, sys
for module in pkgutil.walk_packages(importlib.import_module(sys.argv[1]).__path__, sys.argv[1] + '.'): importlib.import_module(module.name)`

const folder = tempFolder()
const operations = new Map<string, [path: string, method: string, operation: Operation][]>()
beforeAll(async () => {
  for (const [name, document] of Object.entries(await documentsOfClients())) {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(document))
    const { paths } = document as { paths: Record<string, Record<string, Operation>> }
    const all = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): [string, string, Operation] => [path, method, operation]),
    )
    operations.set(name, all)
  }
})

describe.each(['gateway', 'admin'])('a client of the document of the %s', (name) => {
  const file = join(folder, `${name}.json`)

  test('a client of a document has every operation in Python, without a warning of the generator, and each of its modules loads', () => {
    const generator = guideTool('python-client')
    const client = join(folder, `${name}_client`)
    const args = ['generate', '--path', file, '--output-path', client, '--meta', 'none', '--fail-on-warning']
    const config = join(folder, 'generator.yaml')
    writeFileSync(config, OPTIONS)
    execFileSync(generator, [...args, '--config', config], { stdio: 'pipe' })
    const made = globSync('api/**/[!_]*.py', { cwd: client })
    expect(made).toHaveLength(operations.get(name)?.length ?? 0)
    const python = join(dirname(generator), 'python')
    execFileSync(python, ['-c', LOAD, `${name}_client`], { cwd: folder, stdio: 'pipe' })
  })

  test('a client of a document has every operation in TypeScript, and compiles by the strictest rules', () => {
    const types = join(folder, `${name}.d.ts`)
    execFileSync(guideTool('typescript-client'), [file, '-o', types], { stdio: 'pipe' })
    const uses = (operations.get(name) ?? []).map(
      ([path, method], i) => `export type O${i} = paths[${JSON.stringify(path)}]['${method}']['responses']`,
    )
    const program = join(folder, `${name}-uses.ts`)
    writeFileSync(program, [`import type { paths } from './${name}.d.ts'`, ...uses, ''].join('\n'))
    const options = ['--ignoreConfig', '--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024']
    execFileSync('node_modules/.bin/tsc', [...options, '--types', '', '--allowImportingTsExtensions', program], {
      stdio: 'pipe',
    })
    expect(readFileSync(types, 'utf8').match(/@description/g)?.length).toBeGreaterThan(100)
  })
})
