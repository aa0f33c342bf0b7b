import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { helpOf } from '../../src/cli/commands.ts'
import { type RunningApp, startApp, startUpstream, type Upstream, yaml } from '../e2e/harness.ts'
import { closedAtEnd } from '../setup/at-end.ts'
import { type Shell, startShell } from '../setup/shell.ts'
import { commandsOf, linesOf, shellBlocks } from './commands.ts'

/**
 * Blocks of `sh` are for another machine, or would change this one. Their commands are looked at as far as that goes: curl is
 * run against a gateway, of all others the names must be known. What helm is told is rendered in test/deploy/docs.test.ts.
 */

const lines = shellBlocks().flatMap(({ document, block }) =>
  linesOf(block.text).map((line) => ({ where: `${document}:${block.line}`, line })),
)

const scripts: Readonly<Record<string, string>> = packageJson.scripts

/** What is wrong with the words behind the name of a program; `null` for nothing. */
type Check = (words: readonly string[]) => string | null

const TAGGED = `registry.example.org/tollgate:${packageJson.version}`

const CHECKS: Readonly<Record<string, Check>> = {
  npm: ([verb = '', ...rest]) => {
    if (['ci', 'start', 'test', 'pack'].includes(verb)) return null
    if (verb === 'install') return same(rest, ['--global', `./${packageJson.name}-*.tgz`])
    if (verb !== 'run') return `npm ${verb}`
    const [name = '', ...args] = rest.filter((word) => word !== '-s' && word !== '--')
    if (scripts[name] === undefined) return `no script ${name}`
    return name === 'tollgate' ? tollgate(args) : scriptOptions(name, args)
  },
  npx: ([program, run, path = '']) => same([program, run], ['vitest', 'run']) ?? isThere(path),
  tollgate: (words) => tollgate(words),
  docker: ([verb, flag = '', value = '', ...rest]) => {
    if (verb === 'build') return same([flag, ...rest], ['-t', '.']) ?? isThere('Dockerfile')
    if (verb === 'push') return same([flag, value, ...rest], [TAGGED, ''])
    if (verb === 'buildx')
      return (
        same([flag, value, ...rest.slice(1)], ['build', '--platform', '-t', TAGGED, '--push', '.']) ??
        isThere('Dockerfile')
      )
    return same([verb, flag, ...rest], ['compose', '-f', 'up', '--build']) ?? isThere(value)
  },
  helm: ([verb = '', release, chart, ...rest]) => {
    if (verb === 'test') return same([chart, ...rest], [undefined])
    if (!['install', 'template'].includes(verb)) return `helm ${verb}`
    return (release === 'tollgate' ? null : `release ${release}`) ?? isThere(join(chart ?? '', 'Chart.yaml'))
  },
  kubectl: ([verb = '', what = '', dashes, ...rest]) => {
    const [node, main, ...args] = rest
    if (verb === 'exec' && dashes === '--') {
      return same([what, node, main], ['deployment/tollgate', '/nodejs/bin/node', 'dist/main.js']) ?? tollgate(args)
    }
    return ['create secret', 'port-forward deployment/tollgate', 'patch deployment', 'patch ingress'].includes(
      `${verb} ${what}`,
    )
      ? null
      : `kubectl ${verb} ${what}`
  },
  'redis-cli': (words) => same(words.slice(0, 2), ['-u', '$TOLLGATE_STORE_URL']),
  openssl: (words) => same(words.slice(0, 2), ['req', '-x509']),
  export: () => null,
  head: () => null,
  grep: () => null,
  ss: (words) => same(words, ['-Htn', 'state', 'established', '( sport = :8080 )']),
  wc: () => null,
  yq: () => null,
}

function same(words: readonly (string | undefined)[], known: readonly (string | undefined)[]): string | null {
  return words.join(' ') === known.join(' ') ? null : `"${words.join(' ')}" is not "${known.join(' ')}"`
}

function isThere(path: string): string | null {
  return existsSync(path) ? null : `no ${path}`
}

/** Each option must be in the help of its command. */
function tollgate([command = '', ...args]: readonly string[]): string | null {
  const help = helpOf(command)
  if (!help.startsWith(`Usage: tollgate ${command}`)) return `tollgate ${command}`
  const unknown = args.filter((word) => word.startsWith('-') && !mentions(help, word))
  return unknown.length === 0 ? null : `tollgate ${command} ${unknown}`
}

/** Options must be in the help of the script, or where it has none in its own text; a value that is a word in the line of its option. */
function scriptOptions(name: string, args: readonly string[]): string | null {
  const file = /^node (\S+)/.exec(scripts[name] ?? '')?.[1] ?? ''
  const text = globSync(join(dirname(file), '*.{ts,mjs}'))
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n')
  const help = /\bhelp: \{/.test(text) && execFileSync(process.execPath, [file, '--help'], { encoding: 'utf8' })
  const lines = (help || text).split('\n')
  const unknown = args.filter((word, i) => {
    if (/^\d+$/.test(word)) return false
    const option = word.startsWith('--') ? word : (args[i - 1] ?? '')
    return !lines.some((line) => mentions(line, option.replace(/^--/, '')) && mentions(line, word.replace(/^--/, '')))
  })
  return unknown.length === 0 ? null : `${name} ${unknown}`
}

function mentions(text: string, word: string): boolean {
  return new RegExp(`(^|[^\\w-])${word.startsWith('-') ? '' : '(--)?'}${word}($|[^\\w-])`, 'm').test(text)
}

describe('a command in a document', () => {
  const all = lines.flatMap(({ where, line }) => commandsOf(line).map((words) => ({ where, words })))
  const others = all.filter(({ words: [name] }) => name !== 'curl')

  it.each(others.map(({ where, words }) => [where, words.join(' '), words] as const))('%s %s', (_where, _text, all) => {
    const [name = '', ...words] = all.slice(all.findIndex((word) => !/^[A-Z_]+=/.test(word)))
    const check = CHECKS[name] ?? (() => `nobody knows the command ${name}`)
    expect(check(words)).toBeNull()
  })
})

describe('a request in a document', () => {
  const TOKEN = 'test-admin-token-0001'
  let upstream: Upstream
  let app: RunningApp
  let shell: Shell
  beforeAll(async () => {
    upstream = await startUpstream()
    const limits = '{ read: { 1h: 10 } }'
    app = await startApp(
      yaml(upstream.url, `quota: { baselines: { personal: ${limits}, global: ${limits} } }\nroutes: []`),
    )
    shell = closedAtEnd(
      startShell('.', { ...process.env, ADMIN: app.admin, TOKEN, TOLLGATE_ADMIN_TOKEN: TOKEN, NO_PROXY: '*' }),
    )
    await shell.run(`curl() { command curl -o /dev/null -w '%{http_code}\\n' "$@"; }`)
  })

  const requests = lines.filter(({ line }) => line.startsWith('curl'))
  it.each(requests.map(({ where, line }) => [where, line] as const))('%s %s', async (_where, line) => {
    const status = await shell.run(line.replace('localhost:9090', new URL(app.admin).host))
    // Nothing has the version of the example.
    expect(line.includes('If-Match') ? ['412'] : ['200', '204']).toContain(status.trim())
  })
})

test('the check itself finds what is not known', () => {
  const wrong = [
    'npm run soaked',
    'npm run bench -- --only requests',
    'npm install --global tollgat',
    'npx vitest run test/nothing',
    'tollgate serv',
    'tollgate store copy --form sqlite:a.db',
    'docker compose -f config/composed.yaml up --build',
    'helm install tollgate charts -f values.yaml',
    'kubectl delete namespace',
  ]
  const problems = wrong.map((line) => {
    const [[name = '', ...words] = []] = commandsOf(line)
    return CHECKS[name]?.(words)
  })
  expect(problems.filter((problem) => problem === null)).toEqual([])
})

test('the check itself reads lines as a shell does', () => {
  expect(linesOf("a 'b # c' \\\n  d   # e\n# f\n")).toEqual(["a 'b # c' d"])
  expect(commandsOf(`a --b='c d' "e f" && g $(h i) | j > k; l`)).toEqual([
    ['a', '--b=c d', 'e f'],
    ['g', '$(h i)'],
    ['j'],
    ['l'],
  ])
})
