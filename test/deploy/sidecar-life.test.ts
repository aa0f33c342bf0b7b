import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { tempFolder } from '../setup/at-end.ts'
import { CHART, EXAMPLES, gatewayOf, type Manifest, render } from './rendering.ts'

/** The patches of the sidecar, merged by the code of Kubernetes: `kubectl patch --local` needs no cluster. */

const hasKubectl = spawnSync('kubectl', ['version', '--client']).status === 0

/** An application that has what the patch adds, too: a volume, a first container, an annotation. */
const APPLICATION = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'legacy' },
  spec: {
    selector: { matchLabels: { app: 'legacy' } },
    template: {
      metadata: { labels: { app: 'legacy' }, annotations: { owner: 'us' } },
      spec: {
        terminationGracePeriodSeconds: 40,
        initContainers: [{ name: 'migrate', image: 'legacy:1', ports: [{ containerPort: 8080, name: 'own' }] }],
        containers: [{ name: 'legacy', image: 'legacy:1', lifecycle: {} }],
        volumes: [{ name: 'own', emptyDir: {} }],
      },
    },
  },
}
/** One that has nothing of it. */
const BARE = {
  ...APPLICATION,
  spec: {
    selector: { matchLabels: { app: 'legacy' } },
    template: {
      metadata: { labels: { app: 'legacy' } },
      spec: { containers: [{ name: 'legacy', image: 'legacy:1' }] },
    },
  },
}

let folder: string
beforeAll(() => {
  folder = tempFolder()
})

async function patched(workload: Manifest, mode: 'sidecar-snippet' | 'sidecar-remove', ...set: string[]) {
  const values = ['-f', EXAMPLES.get(mode) ?? '', ...set.flatMap((each) => ['--set-json', each])]
  const [before, patch] = [join(folder, 'workload.yaml'), join(folder, 'patch.yaml')]
  writeFileSync(before, stringify(workload))
  writeFileSync(patch, await render(CHART, ...values))
  const args = ['patch', '--local', '-f', before, '--patch-file', patch, '-o', 'yaml']
  return parse(execFileSync('kubectl', args, { encoding: 'utf8' }))
}

describe.skipIf(!hasKubectl)('the sidecar in a workload', () => {
  test('the sidecar in a workload is put in beside what the application has, and a second time changes nothing', async () => {
    const workload = await patched(APPLICATION, 'sidecar-snippet')
    const { spec } = workload.spec.template
    expect(spec.initContainers.map(({ name }: Manifest) => name)).toEqual(['tollgate', 'migrate'])
    expect(spec.containers[0].lifecycle.preStop).toEqual({ sleep: { seconds: 10 } })
    expect(await patched(workload, 'sidecar-snippet')).toEqual(workload)
  })

  test('the sidecar in a workload has after a change the ports and variables of the new values and no others', async () => {
    const before = await patched(APPLICATION, 'sidecar-snippet', 'extraEnv=[{"name":"OLD","value":"1"}]')
    const after = await patched(before, 'sidecar-snippet', 'containerPorts.http=18081')
    expect(gatewayOf([after]).ports.map(({ containerPort }: Manifest) => containerPort)).toEqual([18_081, 9090])
    expect(after).toEqual(await patched(APPLICATION, 'sidecar-snippet', 'containerPorts.http=18081'))
  })

  test('the sidecar in a workload leaves with a change the volumes and annotations that the values have no more', async () => {
    const more = [
      'extraVolumes=[{"name":"keys","emptyDir":{}}]',
      'podAnnotations={"team":"edge"}',
      'tls.existingSecret="t"',
    ]
    const before = await patched(APPLICATION, 'sidecar-snippet', ...more)
    const former = 'sidecar.former={"volumes":["keys"],"annotations":["team"]}'
    expect(await patched(before, 'sidecar-snippet', former)).toEqual(await patched(APPLICATION, 'sidecar-snippet'))
  })

  test.each([
    ['that has as much itself', APPLICATION],
    ['that has nothing of it', BARE],
  ])('the sidecar in a workload is taken out whole, of an application %s', async (_, application) => {
    const inline = [
      'allowInlineSecrets=true',
      'redis.password="p"',
      'podAnnotations={"team":"edge"}',
      'tls.existingSecret="t"',
    ]
    const before = await patched(application, 'sidecar-snippet', ...inline)
    const after = await patched(before, 'sidecar-remove', ...inline)
    expect(JSON.stringify(after)).not.toMatch(/tollgate|checksum|preStop|team/)
    expect(without(after.spec.template.spec)).toEqual(without(application.spec.template.spec))
  })

  test.each([
    ['that had none', {}, undefined],
    ['that had its own', { preStop: { sleep: { seconds: 3 } } }, { preStop: { sleep: { seconds: 3 } } }],
  ])(
    'the sidecar in a workload leaves the hooks that the values name, of an application %s',
    async (_, named, left) => {
      const before = await patched(BARE, 'sidecar-snippet')
      const after = await patched(before, 'sidecar-remove', `sidecar.workload.lifecycle=${JSON.stringify(named)}`)
      expect(after.spec.template.spec.containers).toEqual([
        { name: 'legacy', image: 'legacy:1', ...(left && { lifecycle: left }) },
      ])
    },
  )
})

/** A pod without empty lists, and without the grace period that the values of the removal name. */
function without({ terminationGracePeriodSeconds, ...spec }: Manifest): Manifest {
  const [legacy] = spec.containers
  const filled = Object.entries(spec).filter(([, value]) => !Array.isArray(value) || value.length > 0)
  return { ...Object.fromEntries(filled), containers: [{ ...legacy, lifecycle: {} }] }
}
