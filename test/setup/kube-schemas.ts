/**
 * JSON Schemas for kubeconform, which brings none and would fetch them: made of the OpenAPI documents of Kubernetes and of
 * CustomResourceDefinitions. Unknown fields are refused, as they are by `kubectl --validate=strict`.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

/** What of others' definitions our chart uses. */
const CRDS = /_(?:servicemonitors|podmonitors|prometheusrules|httproutes)\.yaml$/

/** Where kubeconform finds the schema of a kind, relative to the folder. */
export const SCHEMA_NAME = 'json/{{.ResourceKind}}{{.KindSuffix}}.json'

type Schema = Record<string, unknown>
interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/** Whether the folder was made of exactly these sources. */
export function isMadeOf(folder: string, sources: readonly string[]): boolean {
  try {
    return readFileSync(join(folder, 'sources'), 'utf8') === sources.join('\n')
  } catch {
    return false
  }
}

/** Makes `json` (schemas) and `crds` (definitions, for kubectl-validate) in the folder. */
export function makeKubeSchemas(
  folder: string,
  sources: readonly string[],
  { openapi, crds }: { openapi: string; crds: readonly string[] },
): void {
  mkdirSync(join(folder, 'json'), { recursive: true })
  mkdirSync(join(folder, 'crds'), { recursive: true })
  const documents = readdirSync(openapi, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'))
  for (const name of documents) writeBuiltins(folder, JSON.parse(readFileSync(join(openapi, name), 'utf8')))
  for (const from of crds) {
    for (const name of readdirSync(from).filter((file) => CRDS.test(file))) {
      copyFileSync(join(from, name), join(folder, 'crds', name))
      writeCrd(folder, parse(readFileSync(join(from, name), 'utf8')))
    }
  }
  writeFileSync(join(folder, 'sources'), sources.join('\n'))
}

function writeBuiltins(folder: string, document: { components: { schemas: Record<string, Schema> } }): void {
  const { schemas } = document.components
  const definitions = JSON.parse(JSON.stringify(schemas).replaceAll('#/components/schemas/', '#/definitions/'))
  closeObjects(definitions)
  for (const [name, schema] of Object.entries(schemas)) {
    const kinds = (schema['x-kubernetes-group-version-kind'] ?? []) as GroupVersionKind[]
    // Kinds of every group at once, like DeleteOptions, are no manifests.
    if (kinds.length === 1 && kinds[0] !== undefined) {
      write(folder, kinds[0], { $ref: `#/definitions/${name}`, definitions })
    }
  }
}

interface Definition {
  readonly spec: {
    readonly group: string
    readonly names: { readonly kind: string }
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[]
  }
}

function writeCrd(folder: string, { spec }: Definition): void {
  for (const { name, schema } of spec.versions) {
    closeObjects(schema.openAPIV3Schema)
    write(folder, { group: spec.group, version: name, kind: spec.names.kind }, schema.openAPIV3Schema)
  }
}

/** As kubeconform builds KindSuffix: of a group its first part, and nothing for the first group of all. */
function write(folder: string, { group, version, kind }: GroupVersionKind, schema: Schema): void {
  const suffix = [group.split('.')[0], version].filter((part) => part !== '').join('-')
  writeFileSync(join(folder, 'json', `${kind.toLowerCase()}-${suffix}.json`), JSON.stringify(schema))
}

/** Objects that name their properties take no others. */
function closeObjects(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return
  const object = schema as Schema
  const isOpen = 'additionalProperties' in object || object['x-kubernetes-preserve-unknown-fields'] === true
  // A property may itself be called "properties".
  if (object.type === 'object' && typeof object.properties === 'object' && !isOpen) object.additionalProperties = false
  for (const value of Object.values(object)) closeObjects(value)
}
