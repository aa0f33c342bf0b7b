import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { cpus, release } from 'node:os'

/** The packages that the benchmark needs from Debian, each with a file that proves its presence. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ['wrk', '/usr/bin/wrk'],
  ['nginx', '/usr/sbin/nginx'],
  ['libnginx-mod-http-lua', '/usr/lib/nginx/modules/ngx_http_lua_module.so'],
  ['lua-nginx-redis', '/usr/share/lua/5.1/nginx/redis.lua'],
  ['redis-server', '/usr/bin/redis-server'],
  ['gcc', '/usr/bin/cc'],
  ['libc6-dev', '/usr/include/stdio.h'],
])

/** Installs missing packages where that is possible, and reports it. @throws Error that says what to install */
export function ensurePackages(): void {
  if (process.platform !== 'linux') throw new Error('the benchmark reads CPU time from /proc: it needs Linux')
  ensureDebian(PACKAGES)
  if (cpus().length < 2) throw new Error('the benchmark needs two cores')
  if (spawnSync('taskset', ['-V']).error) throw new Error('taskset is missing: install util-linux')
}

/** @param packages of Debian, each with a file that proves its presence. @throws Error that says what to install */
export function ensureDebian(packages: ReadonlyMap<string, string>): void {
  const missing = [...packages].filter(([, file]) => !existsSync(file)).map(([name]) => name)
  if (missing.length > 0) install(missing)
}

function install(missing: readonly string[]): void {
  const command = ['apt-get', 'install', '-y', '--no-install-recommends', ...missing]
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Error(`install first (Debian: ${command.join(' ')}): ${missing.join(', ')}`)
  }
  console.log(`Installing missing packages: ${command.join(' ')}`)
  // In runlevel 1 Debian's maintainer scripts leave the packages' services stopped.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  for (const args of [['update'], command.slice(1)]) {
    execFileSync('apt-get', args, { stdio: ['ignore', 'ignore', 'inherit'], env })
  }
}

/**
 * Lets an idle core poll for work until the process ends (linux/Documentation/power/pm_qos_interface.rst: no latency is accepted). A
 * sleeping core has to be woken by the writer, which on a virtual machine can cost more than the request.
 * @throws Error if that is not allowed
 */
export function keepAwake(): void {
  try {
    writeSync(openSync('/dev/cpu_dma_latency', 'w'), Buffer.alloc(4))
  } catch (error) {
    throw new Error(`--awake needs root and /dev/cpu_dma_latency: ${(error as Error).message}`, { cause: error })
  }
}

const AUTOGROUP = '/proc/self/autogroup'
/** `0` if the kernel does not weigh sessions. */
const WEIGHED = '/proc/sys/kernel/sched_autogroup_enabled'
const FIRST = '-20'
const USUAL = '0'

/**
 * Gives the session of the benchmark priority over the rest of the machine, until it ends. The kernel weighs sessions against each other
 * and against its own threads, and the nice value only within one (sched(7), autogroup). On a virtual machine whose kernel samples memory
 * (`kdamond`) that thread had a core for 3 to 5 ms twice a second: at half load p99 of an accepted request was 3.3 ms, and 1.3 with this.
 * @returns the sentence for the report
 */
export function raisePriority(): string {
  try {
    if (readFileSync(WEIGHED, 'utf8').trim() === '0')
      return 'Sessions are not weighed here (sched_autogroup_enabled is 0)'
    const [, nice = USUAL] = / nice (-?\d+)/.exec(readFileSync(AUTOGROUP, 'utf8')) ?? []
    // The value that a killed run left behind is not restored.
    const before = nice === FIRST ? USUAL : nice
    writeFileSync(AUTOGROUP, FIRST)
    process.once('exit', () => writeFileSync(AUTOGROUP, before))
    return `Its session has nice ${FIRST} (autogroup)`
  } catch (error) {
    return `The priority of its session could not be raised (${(error as NodeJS.ErrnoException).code})`
  }
}

/** Lines with the size of the machine and the versions of the programs, on which the numbers depend. */
export function describeMachine(): readonly string[] {
  const model = cpus()[0]?.model ?? 'unknown processor'
  return [
    `Machine: ${cpus().length} cores, ${model}, Linux ${release()}, load ${loadAverage()} at the start`,
    `Node ${process.version.slice(1)}, ${[...PACKAGES.keys()].map((name) => `${name} ${versionOf(name)}`).join(', ')}`,
    `http-proxy-3 ${npmVersion('http-proxy-3')}, ioredis ${npmVersion('ioredis')}`,
  ]
}

function loadAverage(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ')[0] ?? ''
}

function versionOf(name: string): string {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder is dpkg's
  const { stdout, status } = spawnSync('dpkg-query', ['-W', '-f=${Version}', name], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : '(not from Debian)'
}

function npmVersion(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
