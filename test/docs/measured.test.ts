import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'

/** Tables of the benchmark say when and at which commit they were measured, and are not passed off as those of today. */

/** Folders whose code a request passes, or that its charge passes. */
const DATA_PATH = [
  'edge',
  'gateway',
  'respond',
  'forward',
  'routing',
  'auth',
  'inputs',
  'quota',
  'store',
  'node',
  'lib',
].map((folder) => `src/${folder}`)
/** So many commits may lie between what a table measured and the newest change of the data path. */
const MOST_COMMITS = 200
const MEASURED = /Measured on (\d{4}-\d\d-\d\d) at ([0-9a-f]{7,40})\b/i
const OLD = /The data path has changed in more than 200 commits since then: measure again by `(npm run bench[^`]*)`\./

interface Section {
  readonly title: string
  readonly text: string
}

/** The sections of a page that have a table of figures. */
function sectionsOf(text: string, heading: RegExp, without: readonly string[] = []): Section[] {
  return text
    .split(heading)
    .slice(1)
    .map((part) => ({ title: part.split('\n', 1)[0] ?? '', text: part }))
    .filter(({ title, text }) => /^\|/m.test(text) && !without.includes(title))
}

const page = readFileSync('docs/benchmarks.md', 'utf8')
const [, tables = ''] = readFileSync('docs/contributing/benchmarks-tables.md', 'utf8').split(
  '<!-- made by "npm run bench -- --write": begin -->',
)
const sections = [
  ...sectionsOf(page, /^## /m, ['How it was measured']),
  ...sectionsOf(tables.split('<!-- made by')[0] ?? '', /^### /m),
]

const git = (...args: string[]): string =>
  execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** The newest commit that changed the data path. */
const newest = git('log', '-1', '--format=%H', '--', ...DATA_PATH)

/** Commits from a table's commit to the newest change of the data path. @throws Error if the commit is not in the history */
function commitsSince(commit: string): number {
  git('merge-base', '--is-ancestor', commit, 'HEAD')
  return Number(git('rev-list', '--count', `${commit}..${newest}`))
}

/** What is wrong with what a section says of its age; `null` for nothing. */
function faultOf(text: string, since: (commit: string) => number): string | null {
  const [, , commit] = MEASURED.exec(text) ?? []
  if (commit === undefined) return 'does not say "Measured on DAY at COMMIT"'
  const isOld = since(commit) > MOST_COMMITS
  if (isOld && !OLD.test(text)) return `is ${since(commit)} commits older than the data path and does not say so`
  return !isOld && OLD.test(text) ? 'says that it is old, and is not' : null
}

describe('a table of figures', () => {
  test.each(sections)('$title says at which commit it was measured, and that it is old where it is', ({ text }) => {
    expect(faultOf(text, commitsSince)).toBeNull()
  })

  test.each(sections)('$title has a day that is not before its commit', ({ text }) => {
    const [, day = '', commit = ''] = MEASURED.exec(text) ?? []
    expect(git('log', '-1', '--format=%cs', commit) <= day).toBe(true)
  })

  test('a table of figures is refused without a commit, older than 200 commits without a word of it, and with that word while it is new', () => {
    const measured = 'Measured on 2026-11-28 at 38329f29.'
    const old =
      'The data path has changed in more than 200 commits since then: measure again by `npm run bench -- --only cost`.'
    expect(faultOf('figures', () => 0)).toContain('does not say')
    expect(faultOf(measured, () => 200)).toBeNull()
    expect(faultOf(measured, () => 201)).toContain('201 commits older')
    expect(faultOf(`${measured} ${old}`, () => 201)).toBeNull()
    expect(faultOf(`${measured} ${old}`, () => 200)).toContain('is not')
  })
})

test('the README names for each of its runs the day and the commit of the table that it quotes, what is worse first', () => {
  const readme = readFileSync('README.md', 'utf8')
  const bullet = readme.split('\n').find((line) => line.includes('µs of CPU')) ?? ''
  const quoted = [...bullet.matchAll(new RegExp(MEASURED, 'gi'))].map(([, day, commit]) => `${day} ${commit}`)
  const of = (title: string): string => {
    const [, day, commit] = MEASURED.exec(sections.find((each) => each.title === title)?.text ?? '') ?? []
    return `${day} ${commit}`
  }
  expect(quoted).toEqual([...new Set([of('At everyday rates'), of('At saturation')])])
  expect(bullet).toMatch(/^- \*\*Not the cheapest/)
  expect(page.indexOf('## What is worse')).toBeLessThan(page.indexOf('## What is better'))
})
