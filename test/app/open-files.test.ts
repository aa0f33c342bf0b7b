import { expect, test } from 'vitest'
import { openFilesProblem } from '../../src/app/open-files.ts'
import { understood } from '../e2e/harness.ts'

const { config } = understood(`
upstream: { url: "http://127.0.0.1:9000", max_connections: 10 }
edge: { max_connections: 100, max_tunnels: 5 }
`)

test('a process that may open fewer files than connections are allowed is warned of, with the cure', () => {
  expect(openFilesProblem(config, 378)).toMatch(/may have 378 files open, .* allow for 315 connections: .*; raise it/)
  expect(openFilesProblem(config, 379)).toBeNull()
  expect(openFilesProblem(config, null)).toBeNull()
})

test('the limit of open files is that of this process', () => {
  const many = { ...config, edge: { ...config.edge, maxConnections: 1e9 } }
  const [, limit] = /may have (\d+) files open/.exec(openFilesProblem(many) ?? '') ?? []
  expect(Number(limit)).toBeGreaterThan(0)
  expect(openFilesProblem({ ...many, edge: { ...many.edge, maxConnections: 1 } }, Number(limit))).toBeNull()
})
