import { execFile } from 'node:child_process'
import { globSync, readFileSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'

const OUTPUT = 'dist/reference/page'
const build = () => promisify(execFile)(process.execPath, ['build/dashboard.ts'])

beforeAll(async () => {
  await build()
})

test.each(['index.html', 'frame.html'])(
  '%s needs no script and no style within the page, and names no place',
  (name) => {
    const page = readFileSync(`${OUTPUT}/${name}`, 'utf8')
    expect(page.match(/<script[^>]*>/g)).toEqual([expect.stringMatching(/ src="\.\/assets\/\w+-[\w-]+\.js"/)])
    expect(page).toMatch(/<script[^>]*><\/script>/)
    expect(page).not.toMatch(/<style| style=| on\w+=/)
    expect(
      [...page.matchAll(/(?:src|href)="([^"]*)"/g)].filter(([, address]) => !address?.startsWith('./assets/')),
    ).toEqual([])
  },
)

test('its files are named by their content, and the licence of the renderer goes with it', () => {
  const files = globSync('**/*.*', { cwd: OUTPUT }).filter((path) => !path.startsWith('licenses'))
  expect(files.filter((path) => !/^assets\/\w+-[\w-]{8}\.\w+$/.test(path)).sort()).toEqual(['frame.html', 'index.html'])
  expect(readFileSync(`${OUTPUT}/licenses/swagger-ui/LICENSE`, 'utf8')).toContain('Apache License')
  expect(readFileSync(`${OUTPUT}/licenses/swagger-ui/NOTICE`, 'utf8')).toContain('SmartBear')
})

test('the reference page is built again only after a change', async () => {
  const before = statSync(`${OUTPUT}/index.html`).mtimeMs
  await build()
  expect(statSync(`${OUTPUT}/index.html`).mtimeMs).toBe(before)
})
