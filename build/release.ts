import { readFileSync, writeFileSync } from 'node:fs'

/**
 * The version and the address of the repository, in all their places. `node build/release.ts set 1.2.0 https://forge.example/team/tollgate`
 * writes both. `check` with the same arguments ends with 1 and names each place that differs, or lacks its section of the changelog.
 */

/** A place of the version or the repository: `find` matches around it, and the value goes between the two groups. */
interface Place {
  readonly file: string
  readonly find: RegExp
  readonly what: 'version' | 'repository'
  /** The number of its occurrences. */
  readonly times: number
}

/** In the lock file only the entries of the project itself count. */
const OWN = String.raw`"(?:name": "tollgate|name": "@tollgate/services)",\n\s+"version": "`
export const PLACES: readonly Place[] = [
  { file: 'package.json', find: /^( {2}"version": ")[^"]*(")/gm, what: 'version', times: 1 },
  { file: 'services/package.json', find: /^( {2}"version": ")[^"]*(")/gm, what: 'version', times: 1 },
  { file: 'package-lock.json', find: new RegExp(`(${OWN})[^"]*(")`, 'g'), what: 'version', times: 3 },
  { file: 'helm/Chart.yaml', find: /^((?:appV|v)ersion: ).*()$/gm, what: 'version', times: 2 },
  { file: 'helm/Chart.yaml', find: /^( {6}image: tollgate:).*()$/gm, what: 'version', times: 1 },
  { file: 'package.json', find: /^( {2}"repository": "git\+)[^"]*(\.git")/gm, what: 'repository', times: 1 },
  { file: 'helm/Chart.yaml', find: /^(home: ).*()$/gm, what: 'repository', times: 1 },
]

export interface Release {
  readonly version: string
  /** The address of the repository by https, without a slash at its end. */
  readonly repository: string
}

/** @param folder of the project. @returns a line for each place with another value, and one if the changelog lacks the version */
export function problems(folder: string, release: Release): string[] {
  const wrong = PLACES.flatMap(({ file, find, what, times }) => {
    const text = readFileSync(`${folder}/${file}`, 'utf8')
    const said = [...text.matchAll(find)]
    if (said.length !== times) return [`${file}: ${said.length} places for the ${what}, where ${times} are known`]
    const isRight = said.every(([all, before = '', after = '']) => all === before + release[what] + after)
    return isRight ? [] : [`${file}: the ${what} is not ${release[what]}: run node build/release.ts set`]
  })
  const changes = readFileSync(`${folder}/CHANGELOG.md`, 'utf8')
  const hasSection = changes.split('\n').some((line) => line.startsWith(`## ${release.version} `))
  return hasSection ? wrong : [...wrong, `CHANGELOG.md: no section "## ${release.version} (date)"`]
}

/** Writes the version and the repository into each place. */
export function set(folder: string, release: Release): void {
  for (const { file, find, what } of PLACES) {
    const path = `${folder}/${file}`
    const text = readFileSync(path, 'utf8')
    writeFileSync(
      path,
      text.replace(find, (_, before: string, after: string) => before + release[what] + after),
    )
  }
}

if (import.meta.main) {
  const [command, version = '', repository = ''] = process.argv.slice(2)
  const isKnown = command === 'set' || command === 'check'
  if (!isKnown || !/^\d+\.\d+\.\d+$/.test(version) || !/^https:\/\/[^/]+\/.+[^/]$/.test(repository)) {
    console.error('Say for example: node build/release.ts set 1.2.0 https://forge.example/team/tollgate')
    process.exit(2)
  }
  if (command === 'set') set('.', { version, repository })
  const found = problems('.', { version, repository })
  for (const line of found) console.error(line)
  if (command === 'check' && found.length > 0) process.exit(1)
}
