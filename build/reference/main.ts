import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { adminPage, decisionsPage, gatewayPage } from './api.ts'
import { commandLinePage } from './command-line.ts'
import { configurationPage } from './configuration.ts'
import { adminDocument, documentOfDecisions, documentOfGateway } from './documents.ts'
import { errorCodesPage } from './error-codes.ts'
import { logLinesPage } from './log-lines.ts'
import { metricsPage } from './metrics.ts'
import { type Node, unfolded } from './schema.ts'

/** Writes the pages of docs/reference from the source: `npm run docs:reference`. test/docs/reference.test.ts checks them. */

const fileOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const textOf = (path: string): string => readFileSync(fileOf(path), 'utf8')

/** The text of each page by its file. */
export async function pages(): Promise<Readonly<Record<string, string>>> {
  const { $defs, ...root } = JSON.parse(textOf('config/tollgate.schema.json'))
  const schema = unfolded(root, $defs) as Node
  return {
    'docs/reference/configuration.md': configurationPage(schema, textOf('config/tollgate.yaml')),
    'docs/reference/command-line.md': commandLinePage(),
    'docs/reference/error-codes.md': errorCodesPage(),
    'docs/reference/metrics.md': metricsPage(),
    'docs/reference/log-lines.md': await logLinesPage(),
    'docs/reference/admin-api.md': adminPage(await adminDocument()),
    'docs/reference/gateway-api.md': gatewayPage(documentOfGateway()),
    'docs/reference/decisions-api.md': decisionsPage(documentOfDecisions()),
  }
}

if (import.meta.main) for (const [path, text] of Object.entries(await pages())) writeFileSync(fileOf(path), text)
