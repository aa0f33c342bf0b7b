import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { tryRuntime } from '../../src/app/runtime.ts'
import { loadConfig } from '../../src/config/load.ts'
import { formatProblems } from '../../src/config/problems.ts'
import { tempFolder } from '../setup/at-end.ts'
import { printSchema, readValues, valuesSchema, valuesTable, withTable } from '../setup/chart-docs.ts'
import { SCHEMAS_FOLDER } from '../setup/deploy-tools.ts'
import { SCHEMA_NAME } from '../setup/kube-schemas.ts'
import { makeCa } from '../setup/openssl.ts'
import {
  CHART,
  EXAMPLES,
  environmentOf,
  gatewayOf,
  type Manifest,
  manifestsOf,
  podSpecsOf,
  render,
  run,
} from './rendering.ts'

const read = (path: string) => readFileSync(join(CHART, path), 'utf8')
const HERE = new URL('.', import.meta.url).pathname
const LONG = 120_000

/** What the examples take from Secrets that are not the chart's. */
const SECRETS = {
  'tollgate-admin/token': '0123456789abcdef0123456789abcdef',
  'tollgate-decisions/token': '0123456789abcdef0123456789abcdef',
  'redis-credentials/url': 'rediss://tollgate:p%40ss@redis:6380/0',
  'redis-credentials/password': 'p-a.s_s~1',
  'partner-jwt/hs256': 'k'.repeat(32),
  'legacy-shared/secret': 'between-us',
  'tollgate/admin-token': '0123456789abcdef0123456789abcdef',
  'tollgate/store-url': 'redis://redis:6379/0',
}

let folder: string
/** Examples that are patches, and no whole objects. */
const PATCHES = ['sidecar-snippet', 'sidecar-remove']
/** Rendered examples by name, all but the patches. */
const rendered = new Map<string, string>()
const fileOf = (name: string) => join(folder, `${name}.yaml`)

beforeAll(async () => {
  folder = tempFolder()
  makeCa(folder, 'example')
  for (const [name, values] of EXAMPLES) {
    if (!PATCHES.includes(name)) rendered.set(name, await render(CHART, '-f', values))
  }
  rendered.set('library', await render(libraryChart()))
  rendered.set('kustomize', (await run('kustomize', ['build', `${HERE}kustomize`])).stdout)
  for (const [name, text] of rendered) writeFileSync(fileOf(name), text)
}, LONG)

/** The chart of an application, with ours where `helm dependency build` would put it. */
function libraryChart(): string {
  const chart = join(folder, 'library-chart')
  cpSync(`${HERE}library-chart`, chart, { recursive: true })
  mkdirSync(join(chart, 'charts'))
  cpSync(CHART, join(chart, 'charts', 'tollgate'), { recursive: true })
  return chart
}

const example = (name: string): Manifest[] => manifestsOf(rendered.get(name) ?? '')
const only = (manifests: readonly Manifest[], kind: string) => manifests.filter((manifest) => manifest.kind === kind)

test('the chart passes its own unit tests', { timeout: LONG }, async () => {
  const { stdout, code } = await run('helm-unittest', [CHART])
  expect(code, stdout).toBe(0)
})

// Of a patch, which is no whole Deployment, the lint would miss the rest.
test.each([...EXAMPLES].filter(([name]) => !PATCHES.includes(name)))(
  'the chart passes the strict lint with the example %s',
  async (_, values) => {
    const { stdout, stderr, code } = await run('helm', ['lint', '--strict', CHART, '-f', values])
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).not.toMatch(/^\[/m)
  },
)

test('the chart has the icon of the dashboard', () => {
  const icon = readFileSync(new URL('../../src/dashboard/icon.svg', import.meta.url), 'base64')
  expect(chart().icon).toBe(`data:image/svg+xml;base64,${icon}`)
})

test('the chart is packaged without tests and examples, with the rules and the dashboards', async () => {
  const { stderr, code } = await run('helm', ['package', CHART, '--destination', folder])
  expect(code, stderr).toBe(0)
  const { stdout } = await promisify(execFile)('tar', ['-tzf', join(folder, `tollgate-${chart().version}.tgz`)])
  const files = stdout.trim().split('\n')
  expect(files.filter((file) => /^tollgate\/(?:tests|ci|kustomize|rules\/tests)\//.test(file))).toEqual([])
  expect(files).toContain('tollgate/templates/tests/answers.yaml')
  expect(files).toEqual(expect.arrayContaining(payload().map((file) => `tollgate/${file}`)))
})

test('the chart is of the version of the package', () => {
  const { version } = JSON.parse(read('../package.json'))
  expect(chart().appVersion).toBe(version)
  expect(parse(chart().annotations['artifacthub.io/images'])).toEqual([
    { name: 'tollgate', image: `tollgate:${version}` },
  ])
})

test('the rules of requirements.yaml have a unit test each', () => {
  const rules = read('templates/requirements.yaml').match(/^\{\{- fail /gm) ?? []
  const expected = [...read('tests/requirements_test.yaml').matchAll(/failedTemplate: \{ (.*?) \} \}\]$/gm)]
  expect(new Set(expected.map(([, message]) => message)).size).toBeGreaterThanOrEqual(rules.length)
})

describe('the values', () => {
  const values = readValues()

  test('the values are all described, and the schema is the one of the comments', () => {
    const silent = values.filter(({ isSection, description }) => !isSection && description === '')
    expect(silent.map(({ path }) => path.join('.'))).toEqual([])
    expect(read('values.schema.json')).toBe(printSchema(valuesSchema(values)))
  })

  test('the values are in the README as they are in the comments', () => {
    expect(read('README.md')).toBe(withTable(read('README.md'), valuesTable(values)))
  })

  test('the values are all used by a template', () => {
    const used = usedValues()
    const unused = values
      .filter(({ isSection }) => !isSection)
      .map(({ path }) => path.join('.'))
      .filter((path) => !isUsed(path, used) && !['global', 'enabled'].includes(path))
    expect(unused).toEqual([])
  })

  test('the values that templates use are all there', () => {
    const known = new Set(values.map(({ path }) => path.join('.')))
    const open = values.filter(({ isSection }) => !isSection).map(({ path }) => path.join('.'))
    const unknown = [...usedValues()].filter(
      (path) => !known.has(path) && !open.some((value) => path.startsWith(`${value}.`)),
    )
    expect(unknown).toEqual([])
  })

  test.each([
    ['at the root', 'replicas=3', "additional properties 'replicas' not allowed"],
    ['within an object', 'image.tga=1', "additional properties 'tga' not allowed"],
    ['of a type', 'replicaCount=many', 'got string, want integer'],
    ['of tollgate.yaml', 'config.qouta.mode=loose', "additional properties 'qouta' not allowed"],
    ['of a choice in tollgate.yaml', 'config.unmatched.category=7', 'got number, want string'],
    ['of a choice', 'store=memcached', "value must be one of 'redis', 'embedded'"],
  ])('the values that are wrong are told: %s', async (_, set, message) => {
    const { code, stderr } = await run('helm', ['template', CHART, '--set', set])
    expect(code).toBe(1)
    expect(stderr).toContain(message)
  })
})

test('what is rendered by default is the snapshot', async () => {
  await expect(rendered.get('minimal')).toMatchFileSnapshot('minimal.snapshot.yaml')
})

test('what is rendered is valid for the API server of Kubernetes 1.29 and 1.30', { timeout: LONG }, async () => {
  for (const version of ['1.30', '1.29']) {
    const files = [...rendered.keys()].filter((name) => version !== '1.29' || !sleeps(name)).map(fileOf)
    const crds = ['--local-crds', join(SCHEMAS_FOLDER, 'crds')]
    const { code, stdout, stderr } = await run('kubectl-validate', ['--version', version, ...crds, ...files])
    expect(code, stdout + stderr).toBe(0)
    expect(stdout.match(/OK/g), stdout).toHaveLength(files.length)
  }
})

test('what is rendered has no field that Kubernetes does not know', { timeout: LONG }, async () => {
  const schemas = ['-schema-location', join(SCHEMAS_FOLDER, SCHEMA_NAME)]
  const { code, stdout } = await run('kubeconform', [
    '-strict',
    '-summary',
    ...schemas,
    ...[...rendered.keys()].map(fileOf),
  ])
  expect(code, stdout).toBe(0)
  expect(stdout).toContain('Invalid: 0, Errors: 0, Skipped: 0')
})

test('what is rendered passes kube-linter', { timeout: LONG }, async () => {
  const names = [...rendered.keys()].filter((name) => EXAMPLES.has(name))
  // One by one: of two examples with the same names it would hold the budget of one against the replicas of the other.
  for (const file of names.map(fileOf)) {
    const { code, stdout, stderr } = await run('kube-linter', ['lint', '--config', `${HERE}kube-linter.yaml`, file])
    expect(code, stdout + stderr).toBe(0)
  }
})

test('what is rendered passes the profile "restricted" of Pod Security, with a root that cannot be written', () => {
  for (const name of EXAMPLES.keys()) {
    for (const pod of podSpecsOf(example(name))) expect(violations(pod), name).toEqual([])
  }
  expect(violations({ containers: [gatewayOf(example('library'))] })).toEqual([])
})

test.each(configured())('what is rendered has a configuration that passes check: %s', async (name) => {
  const manifests = example(name)
  const container = gatewayOf(manifests)
  const mounted = podSpecsOf(manifests)
    .flatMap(({ volumes }) => volumes)
    .find((volume) => volume.name === 'tollgate-config').configMap.name
  const { data } = only(manifests, 'ConfigMap').find(({ metadata }) => metadata.name === mounted)
  const file = join(folder, `${name}.tollgate.yaml`)
  writeFileSync(file, withFiles(data['tollgate.yaml']))
  const env = { ...environmentOf(manifests, SECRETS), ON_CALL_TOKEN: 'x'.repeat(32) }
  expect(await check(file, env)).toEqual([])
  expect(container.args).toEqual(['serve', '-c', '/etc/tollgate/tollgate.yaml'])
})

test('what is rendered gives a sidecar a configuration that passes check', async () => {
  const [{ data }] = only(example('sidecar'), 'ConfigMap').filter(({ metadata }) => metadata.name === 'demo-tollgate')
  const file = join(folder, 'sidecar.tollgate.yaml')
  writeFileSync(file, data['tollgate.yaml'])
  const env = { TOLLGATE_ADMIN_TOKEN: 'x'.repeat(32), TOLLGATE_STORE_URL: 'redis://redis:6379/0' }
  const args = [join(CHART, '../src/main.ts'), 'check', '-c', file]
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } })
  expect(stdout).toMatch(/: ok \(0 routes/)
})

test('what is rendered restarts pods for what needs a restart and for nothing else', async () => {
  const checksum = async (...set: string[]) => {
    const values = ['-f', EXAMPLES.get('minimal') ?? '', ...set.flatMap((each) => ['--set-json', each])]
    const [deployment] = only(manifestsOf(await render(CHART, ...values)), 'Deployment')
    return deployment.spec.template.metadata.annotations['checksum/restart']
  }
  const before = await checksum()
  for (const key of [
    'routes=[]',
    'quota={"mode":"loose"}',
    'edge={"max_url":"4KiB"}',
    'upstream={"max_connections":9}',
  ]) {
    expect(await checksum(`config.${key}`), key).toBe(before)
  }
  for (const key of [
    'config.workers=1',
    'config.log={"level":"warn"}',
    'config.metrics={"by_route":"never"}',
    'config.decisions={"refuse_with":403}',
    'config.telemetry={"otlp":"http://collector:4318"}',
    'config.edge={"max_connections":9}',
    'config.store_options={"deadline":"1s"}',
    'tls.existingSecret="ours"',
  ]) {
    expect(await checksum(key), key).not.toBe(before)
  }
})

test('the sidecar comes by the named templates, with its configuration beside it', () => {
  const manifests = example('library')
  const [pod] = podSpecsOf(manifests)
  expect(pod.initContainers[0]).toMatchObject({ name: 'tollgate', restartPolicy: 'Always' })
  expect(only(manifests, 'ConfigMap')[0].data['tollgate.yaml']).toContain('match: GET /v1/items')
  expect(only(manifests, 'Deployment')).toHaveLength(1)
})

test('the sidecar comes by the patch, on top of what an application has', async () => {
  const overlay = join(folder, 'patched')
  mkdirSync(overlay)
  cpSync(`${HERE}kustomize/application.yaml`, join(overlay, 'application.yaml'))
  const values = ['-f', EXAMPLES.get('sidecar-snippet') ?? '', '--set', 'sidecar.patchTool=kustomize']
  writeFileSync(join(overlay, 'patch.yaml'), await render(CHART, ...values))
  writeFileSync(join(overlay, 'kustomization.yaml'), 'resources: [application.yaml]\npatches: [{ path: patch.yaml }]\n')
  const { stdout, stderr, code } = await run('kustomize', ['build', overlay])
  expect(code, stderr).toBe(0)
  writeFileSync(join(overlay, 'built.yaml'), stdout)
  const validated = await run('kubectl-validate', ['--version', '1.30', join(overlay, 'built.yaml')])
  expect(validated.code, validated.stdout + validated.stderr).toBe(0)
  const [pod] = podSpecsOf(only(manifestsOf(stdout), 'Deployment').filter(({ metadata }) => metadata.name === 'legacy'))
  expect(pod.initContainers.map(({ name }: Manifest) => name).sort()).toEqual(['migrate', 'tollgate'])
  expect(pod.containers).toMatchObject([{ name: 'legacy', lifecycle: { preStop: { sleep: { seconds: 10 } } } }])
})

test('the sidecar comes by the component of Kustomize, to the Deployments that ask for it', () => {
  const deployments = only(example('kustomize'), 'Deployment')
  const withSidecar = deployments.filter((deployment) => gatewayOf([deployment]) !== undefined)
  expect(deployments).toHaveLength(2)
  expect(withSidecar.map(({ metadata }) => metadata.name)).toEqual(['legacy'])
  expect(gatewayOf(withSidecar).image).toMatch(/^registry\.example\.org\//)
})

test('the sidecar has in that component the patch of the chart', async () => {
  const { stdout } = await run('helm', ['template', 'tollgate', CHART, '-f', join(CHART, 'kustomize/values.yaml')])
  expect(manifestsOf(read('kustomize/patch.yaml'))).toEqual(manifestsOf(stdout))
})

test('monitoring has every rule, with a link to the runbook', () => {
  const [{ spec }] = only(example('service-monitor'), 'PrometheusRule')
  const rules = spec.groups.flatMap(({ rules }: Manifest) => rules)
  const written = readdirSync(join(CHART, 'rules'))
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => parse(read(`rules/${file}`)).groups.flatMap(({ rules }: Manifest) => rules))
  expect(rules.map(({ expr }: Manifest) => expr)).toEqual(written.map(({ expr }: Manifest) => expr))
  const alerts = rules.filter(({ alert }: Manifest) => alert !== undefined)
  expect(alerts.length).toBeGreaterThan(0)
  for (const { alert, annotations } of alerts) {
    expect(annotations.runbook_url, alert).toMatch(/^https:\/\/wiki\.example\.org\/tollgate\/runbook#[\w-]+$/)
    expect(annotations.runbook, alert).toBeUndefined()
  }
  // Without the address of the runbook an alert names the section, since a link would lead nowhere.
  const [unlinked] = only(example('sidecar'), 'PrometheusRule')
  const first = unlinked.spec.groups.flatMap(({ rules }: Manifest) => rules).find(({ alert }: Manifest) => alert)
  expect(first.annotations.runbook_url).toBeUndefined()
  expect(first.annotations.runbook).toMatch(/^docs\/runbook\.md#/)
})

test('monitoring has every dashboard as it is', () => {
  const [{ data, metadata }] = only(example('service-monitor'), 'ConfigMap').filter(({ metadata }) =>
    metadata.name.endsWith('-dashboards'),
  )
  const files = readdirSync(join(CHART, 'dashboards')).filter((file) => file.endsWith('.json'))
  expect(Object.keys(data).sort()).toEqual(files.map((file) => `tollgate-${file}`).sort())
  for (const file of files) expect(JSON.parse(data[`tollgate-${file}`])).toEqual(JSON.parse(read(`dashboards/${file}`)))
  expect(metadata.labels.grafana_dashboard).toBe('1')
})

test('monitoring renders no empty object where there are no rules and dashboards', async () => {
  const bare = join(folder, 'bare')
  cpSync(CHART, bare, { recursive: true })
  for (const part of ['rules', 'dashboards']) rmSync(join(bare, part), { recursive: true, force: true })
  const kinds = manifestsOf(await render(bare, '-f', EXAMPLES.get('service-monitor') ?? '')).map(({ kind }) => kind)
  expect(kinds).not.toContain('PrometheusRule')
  expect(kinds.filter((kind) => kind === 'ConfigMap')).toHaveLength(1)
})

function chart(): Manifest {
  return parse(read('Chart.yaml'))
}

/** What the templates take by .Files. */
function payload(): string[] {
  return ['rules', 'dashboards'].flatMap((part) =>
    readdirSync(join(CHART, part), { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => `${part}/${name}`),
  )
}

/** The sleep before the end is known from Kubernetes 1.30 on. */
function sleeps(name: string): boolean {
  return rendered.get(name)?.includes('sleep:') ?? false
}

/** Examples that have both a gateway and its configuration. */
function configured(): string[] {
  return [...EXAMPLES.keys(), 'library'].filter((name) => !name.startsWith('sidecar'))
}

/** What volumes would hold: one certificate for all. */
function withFiles(config: string): string {
  const certificate = join(folder, 'example')
  return config
    .replaceAll(/\/etc\/[\w-]+\/\w+\.crt/g, `${certificate}.crt`)
    .replaceAll(/\/etc\/[\w-]+\/\w+\.key/g, `${certificate}.key`)
}

/** What `tollgate check` does, and all that it would print. */
async function check(file: string, env: Record<string, string>): Promise<string[]> {
  const loaded = await loadConfig(file, env)
  if (!loaded.ok) return loaded.problems.map((problem) => formatProblems([problem]))
  await tryRuntime(loaded.config)
  return loaded.warnings.map((problem) => formatProblems([problem]))
}

/** Pod Security Standards, "restricted", for what the chart can get wrong. */
function violations({ securityContext: pod = {}, ...spec }: Manifest): string[] {
  const found = ['hostNetwork', 'hostPID', 'hostIPC'].filter((key) => spec[key] === true)
  for (const { name, securityContext: own = {}, ports = [] } of [...(spec.initContainers ?? []), ...spec.containers]) {
    const rules: Record<string, boolean> = {
      runAsNonRoot: (own.runAsNonRoot ?? pod.runAsNonRoot) === true,
      runAsUser: (own.runAsUser ?? pod.runAsUser) > 0,
      allowPrivilegeEscalation: own.allowPrivilegeEscalation === false,
      privileged: own.privileged !== true,
      capabilities: own.capabilities?.drop?.includes('ALL') && own.capabilities.add === undefined,
      seccompProfile: (own.seccompProfile ?? pod.seccompProfile)?.type === 'RuntimeDefault',
      readOnlyRootFilesystem: own.readOnlyRootFilesystem === true,
      hostPort: ports.every(({ hostPort }: Manifest) => hostPort === undefined),
    }
    found.push(
      ...Object.keys(rules)
        .filter((rule) => !rules[rule])
        .map((rule) => `${name}: ${rule}`),
    )
  }
  const volumes = (spec.volumes ?? []).filter(
    (volume: Manifest) => !['configMap', 'secret', 'emptyDir', 'persistentVolumeClaim'].some((kind) => kind in volume),
  )
  return [...found, ...volumes.map(({ name }: Manifest) => `volume ${name}`)]
}

/** The templates, all in one. */
const templates = readdirSync(join(CHART, 'templates'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(?:yaml|tpl|txt)$/.test(file))
  .map((file) => read(`templates/${file}`))
  .join('\n')

/** Paths of values that templates name whole. */
function usedValues(): Set<string> {
  return new Set([...templates.matchAll(/(?:\.Values|\$v)\.([A-Za-z][\w.]*)/g)].map(([, path = '']) => path))
}

/** By its whole path; by the rest of it, where a template goes into an object with `with`; or with the object as it is. */
function isUsed(path: string, used: ReadonlySet<string>): boolean {
  const parts = path.split('.')
  return parts.some((_, i) => {
    const [above, rest] = [parts.slice(0, i + 1).join('.'), parts.slice(i + 1).join('.')]
    if (!used.has(above)) return false
    const inside = new RegExp(
      `[ ($]\\.${rest.replaceAll('.', '\\.')}\\b|toYaml \\.Values\\.${above.replaceAll('.', '\\.')} `,
    )
    return rest === '' || inside.test(templates)
  })
}
