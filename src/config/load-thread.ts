import { parentPort, workerData } from 'node:worker_threads'
import { loadConfig } from './load.ts'
import type { FromThread, ThreadData } from './load-beside.ts'
import { inParts, type Parts } from './parts.ts'
import type { Tree } from './tree.ts'

/** Reads a configuration for `load-beside.ts`. The rules follow in parts, each on request. */
async function main(): Promise<void> {
  const { file, env } = workerData as ThreadData
  const result = await loadConfig(file, env)
  if (!result.ok) return send({ result, parts: 0 })
  const { rest, rules } = inParts(result.config)
  const left = [...rules]
  parentPort?.on('message', () => send(left.shift() ?? []))
  send({ result: { ...result, config: rest, outline: withoutRules(result.outline) }, parts: rules.length })
}

function send(message: FromThread | Parts['rules'][number]): void {
  parentPort?.postMessage(message)
}

function withoutRules(outline: Tree): Tree {
  if (outline.kind !== 'map') return outline
  return { ...outline, entries: new Map([...outline.entries].filter(([key]) => key !== 'routes')) }
}

void main()
