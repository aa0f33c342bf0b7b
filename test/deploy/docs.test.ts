import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { blocksIn } from '../docs/blocks.ts'
import { commandsOf, linesOf, shellBlocks } from '../docs/commands.ts'
import { tempFolder } from '../setup/at-end.ts'
import { CHART, manifestsOf, run } from './rendering.ts'

/** What documents say to helm is rendered, with the values that they show. */

const values = blocksIn(readFileSync('helm/README.md', 'utf8'))
  .filter(({ language, text }) => language === 'yaml' && !text.includes('{{'))
  .map(({ text, line }) => ({ text, where: `helm/README.md:${line}` }))
const [least] = values
const sidecar = values.find(({ text }) => /^sidecar:/m.test(text))
const commands = shellBlocks()
  .flatMap(({ document, block }) =>
    linesOf(block.text).flatMap((line) => commandsOf(line).map((words) => [document, words] as const)),
  )
  .filter(([, [program, verb]]) => program === 'helm' && verb !== 'test')

let folder: string
beforeAll(() => {
  folder = tempFolder()
  writeFileSync(join(folder, 'values.yaml'), least?.text ?? '')
  writeFileSync(join(folder, 'sidecar.yaml'), sidecar?.text ?? '')
})

/** `helm install` as `helm template`, which takes the same words, with the file of the document and the chart of the checkout. */
async function rendered(words: readonly string[]): Promise<string> {
  const isSidecar = words.some((word) => word.startsWith('mode='))
  // A sidecar's upstream is the application in the same pod, so the document has other values for it.
  const file = join(folder, isSidecar ? 'sidecar.yaml' : 'values.yaml')
  const here: Readonly<Record<string, string>> = { helm: CHART, 'values.yaml': file }
  const args = words.slice(2).map((word) => here[word] ?? word)
  const { code, stdout, stderr } = await run('helm', ['template', ...args])
  expect(code, stderr).toBe(0)
  return stdout
}

describe('what a document says to helm', () => {
  test('what a document says to helm is something', () => expect(commands.length).toBeGreaterThan(2))

  test.each(commands.map(([document, words]) => [document, words.join(' '), words] as const))(
    '%s: %s',
    async (_document, text, words) => {
      const output = await rendered(words)
      const isWhole = !text.includes('mode=') && !words.includes('-s')
      if (isWhole) {
        expect(manifestsOf(output).map(({ kind }) => kind)).toEqual(expect.arrayContaining(['Deployment', 'Service']))
      }
      expect(output).toContain('tollgate')
    },
  )

  test.each(values.slice(1).map(({ where, text }) => [where, text] as const))('%s: %j', async (_where, text) => {
    const file = join(folder, 'more.yaml')
    writeFileSync(file, text)
    const install = ['helm', 'install', 'tollgate', 'helm', '-f', 'values.yaml']
    expect(await rendered([...install, '-f', file])).not.toBe(await rendered(install))
  })

  test('an Ingress that exists already is led to a Service and a port that the chart makes', async () => {
    const [, patch = '[]'] =
      /^kubectl patch ingress legacy .* -p '(.+)'$/m.exec(readFileSync('helm/README.md', 'utf8')) ?? []
    const [{ value }] = JSON.parse(patch)
    const output = await rendered(['helm', 'install', 'tollgate', 'helm', '-f', 'values.yaml'])
    const service = manifestsOf(output).find(({ kind, metadata }) => kind === 'Service' && metadata.name === value.name)
    expect(service?.spec.ports.map(({ name }: { name: string }) => name)).toContain(value.port.name)
  })
})
