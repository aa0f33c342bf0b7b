import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

test('what is built has every file that is started as a process or a thread of its own', () => {
  const built = (JSON.parse(readFileSync(join(root, 'tsconfig.build.json'), 'utf8')) as { files: string[] }).files
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  )
  const texts = new Map(sources.map((path) => [join('src', path), readFileSync(join(root, 'src', path), 'utf8')]))
  const started = [...texts].flatMap(([path, text]) =>
    [...text.matchAll(/`([\w./-]+)\$\{(?:EXTENSION|extname\()/g)].map(([, name]) =>
      normalize(join(dirname(path), `${name}.ts`)),
    ),
  )
  expect(started).toContain('src/store/sqlite/checkpoint-thread.ts')
  expect(started.filter((file) => !built.includes(file))).toEqual([])
})
