import type { Segment } from '../config/config.ts'
import { type Published, publicPaths, STATUS_PATHS, USAGE_PATH } from '../quota/own-paths.ts'
import { canonicalLiteral } from '../routing/target.ts'
import type { Json } from './json.ts'

export type Items = Record<string, Record<string, unknown>>

/** The paths of a document while it is made. It keeps them, and the ids of their operations, distinct. */
export class Paths {
  readonly items: Items = {}
  readonly #page: string
  readonly #documents: ReadonlySet<string>
  readonly #firstOfShape = new Map<string, string>()
  readonly #ids = new Set<string>()

  /** @param page the path of the page, at which the gateway itself responds */
  constructor(page: string, published: Published) {
    this.#page = page
    this.#documents = publicPaths(published)
  }

  /** The first operation of a path and method is kept. @returns false for a path at which the gateway itself responds */
  add(path: string, method: string, operation: Json): boolean {
    if (this.#isOwn(path, method)) return false
    this.#set(this.standing(path), method, operation)
    return true
  }

  /** Adds an operation to which the gateway itself responds. */
  addOwn(path: string, operation: Json): void {
    this.#set(path, 'get', operation)
  }

  #set(path: string, method: string, operation: Json): void {
    const item = this.items[path] ?? {}
    item[method] ??= this.#withOwnId(operation)
    this.items[path] = item
  }

  #isOwn(path: string, method: string): boolean {
    if (method !== 'get' && method !== 'head') return false
    const isPage = path === this.#page || path.startsWith(`${this.#page}/`)
    return isPage || STATUS_PATHS.has(path) || path === USAGE_PATH || this.#documents.has(path)
  }

  /** The path to use for a template. OpenAPI treats templates that differ only in names of parameters as one path, so the first is kept. */
  standing(path: string): string {
    const shape = path.replace(/\{[^{}]*\}/g, '{}')
    const first = this.#firstOfShape.get(shape) ?? path
    this.#firstOfShape.set(shape, first)
    return first
  }

  /** An operation at several paths has a different id at each. */
  #withOwnId(operation: Json): Json {
    const { operationId } = operation
    if (typeof operationId !== 'string') return operation
    let id = operationId
    for (let n = 2; this.#ids.has(id); n++) id = `${operationId}_${n}`
    this.#ids.add(id)
    return { ...operation, operationId: id }
  }
}

/** A rule's path as OpenAPI writes it. */
export function pathOf(segments: readonly Segment[]): string {
  return segments
    .map((segment) => {
      if (segment.kind === 'rest') return `/{${restName(segments)}}`
      return segment.kind === 'param' ? `/{${segment.name}}` : `/${canonicalLiteral(segment.text)}`
    })
    .join('')
}

/** The name of the parameter for the rest of a path. */
export function restName(segments: readonly Segment[]): string {
  const isTaken = segments.some((segment) => segment.kind === 'param' && segment.name === 'rest')
  return isTaken ? '_rest' : 'rest'
}
