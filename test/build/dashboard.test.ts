import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'

const OUTPUT = 'dist/dashboard'
const build = () => promisify(execFile)(process.execPath, ['build/dashboard.ts'])

beforeAll(async () => {
  await build()
})

test('what is built needs no script and no style within the page', () => {
  const page = readFileSync(`${OUTPUT}/index.html`, 'utf8')
  expect(page.match(/<script[^>]*>/g)).toEqual([expect.stringMatching(/ src="\/assets\/index-[\w-]+\.js"/)])
  expect(page).toMatch(/<script[^>]*><\/script>/)
  expect(page).not.toMatch(/<style| style=| on\w+=/)
})

test('all but the page itself is named by its content', () => {
  const files = readdirSync(OUTPUT, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  const others = files.map(({ name }) => name).filter((name) => name !== 'index.html')
  expect(others.length).toBeGreaterThan(2)
  expect(others.filter((name) => !/-[\w-]{8}\.\w+$/.test(name))).toEqual([])
})

test('the dashboard is built again only after a change', async () => {
  const before = statSync(`${OUTPUT}/index.html`).mtimeMs
  await build()
  expect(statSync(`${OUTPUT}/index.html`).mtimeMs).toBe(before)
})
