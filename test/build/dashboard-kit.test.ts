import { existsSync, globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const text = (path: string): string => readFileSync(path, 'utf8')

test('each component of the kit that a page uses has its styles in the bundle', () => {
  const sources = globSync('src/dashboard/**/*.tsx').map(text).join()
  const imported = [...sources.matchAll(/import \{([^}]*)\} from '@mantine\/core'/g)].flatMap(([, names = '']) =>
    names.split(','),
  )
  const used = [...new Set(imported.map((name) => name.trim()))]
  const styled = used.filter((name) => existsSync(`node_modules/@mantine/core/styles/${name}.css`))
  expect(styled).toContain('Button')
  const kit = text('src/dashboard/kit.css')
  expect(styled.filter((name) => !kit.includes(`/${name}.css"`))).toEqual([])
})
