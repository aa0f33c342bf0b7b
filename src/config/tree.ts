import {
  isAlias,
  isMap,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  type YAMLParseError,
  type YAMLSeq,
  type YAMLWarning,
} from 'yaml'
import { type Finding, type Path, type Position, quote } from './problems.ts'
import { cureOf } from './yaml-cures.ts'
import { openingBefore } from './yaml-openers.ts'

/** A YAML document with the place of everything in it. Besides `baselines-text.ts`, only this file uses the yaml library. */
export type Tree = MapTree | ListTree | ScalarTree

export interface MapTree extends Position {
  readonly kind: 'map'
  readonly entries: ReadonlyMap<string, Entry>
}

export interface Entry {
  readonly key: Position
  readonly value: Tree
}

export interface ListTree extends Position {
  readonly kind: 'list'
  readonly items: readonly Tree[]
}

export interface ScalarTree extends Position {
  readonly kind: 'scalar'
  /** `undefined` if the value was refused already, so that nothing more is reported about it. */
  readonly value: string | number | boolean | null | undefined
  /** Neither quoted nor a block, so that YAML chooses its type. */
  readonly plain: boolean
}

const MAX_DEPTH = 32
/** How many nodes all aliases together may stand for. A bomb makes billions from a few lines. */
const MAX_ALIASED = 10_000
/** Further syntax errors are only consequences of the first ones. */
const MAX_SYNTAX_ERRORS = 20

/** Plain scalars of this form are the same number for every reader of YAML, 1.1 or 1.2. */
const DECIMAL = /^[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
/** These would reach the prototype of an object. */
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype'])

interface Reader {
  readonly findings: Finding[]
  readonly at: (node: Node) => Position
  /** The present meaning of each anchor. Reading follows the document, so an alias finds the last anchor before it. */
  readonly anchors: Map<string, Node>
  /** The collections that are being read. */
  readonly open: Set<Node>
  aliased: number
}

/** Lines are counted here, because the library's parser leaves some out after serious syntax errors (yaml 2.9.1). */
function linesOf(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1)
  return lines
}

/**
 * Reads one document of YAML 1.2 (core schema). It refuses syntax errors, duplicate, empty and ambiguous keys, merge
 * keys, tags and directives. It also refuses a second document, deep nesting, and aliases that grow without bound.
 * @returns `tree` is `null` for an empty document or a syntax error
 */
export function parseTree(text: string): { readonly tree: Tree | null; readonly findings: Finding[] } {
  const lines = linesOf(text)
  const position = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  // Duplicate keys are found below, because the library compares each key with every other, and names only one place.
  const doc = parseDocument(text, { version: '1.2', schema: 'core', uniqueKeys: false, ...QUIET })
  const errors = syntaxErrors(text, [...doc.errors, ...doc.warnings].slice(0, MAX_SYNTAX_ERRORS), position)
  // A %YAML 1.1 directive would make `no` a boolean, and 010 the number 8.
  if (doc.directives?.yaml.explicit) errors.push({ path: ['yaml'], message: cureOf('DIRECTIVE', ''), at: position(0) })
  if (errors.length > 0 || doc.contents === null) return { tree: null, findings: errors }

  const reader: Reader = {
    findings: [],
    at: (node) => position(node.range?.[0] ?? 0),
    anchors: new Map(),
    open: new Set(),
    aliased: 0,
  }
  const tree = read(reader, doc.contents, [], null)
  return { tree, findings: reader.findings }
}

type Located = Finding & { readonly at: Position }

/** Errors that result from an unclosed bracket or quote, or from a variable in braces without quotes. */
const OF_OPENINGS: ReadonlySet<string> = new Set(['BAD_INDENT', 'MISSING_CHAR', 'UNEXPECTED_TOKEN'])

/** In the order of the text. Something unclosed is reported at its beginning, and everything after it is a consequence. */
function syntaxErrors(
  text: string,
  errors: readonly (YAMLParseError | YAMLWarning)[],
  position: (offset: number) => Position,
): Located[] {
  const [first] = errors
  const opening = first !== undefined && OF_OPENINGS.has(first.code) ? openingBefore(text, first.pos[0]) : null
  if (opening !== null && !(opening.isUnclosed && first?.code === 'UNEXPECTED_TOKEN')) {
    return [{ path: ['yaml'], message: opening.message, at: position(opening.at) }]
  }
  return firstOfEachLine(
    errors.map((error) => ({
      path: ['yaml'],
      message: cureOf(error.code, error.message),
      at: position(error.pos[0]),
    })),
  )
}

/** Further errors on the same line are consequences. */
function firstOfEachLine(errors: readonly Located[]): Located[] {
  return errors.filter((error, i) => errors.findIndex((other) => other.at.line === error.at.line) === i)
}

const QUIET = { prettyErrors: false, logLevel: 'error' } as const

/** @param alias the place of the alias through which the node was reached, which counts as the place of its content */
function read(reader: Reader, node: Node, path: Path, alias: Position | null): Tree {
  const at = alias ?? reader.at(node)
  if (path.length > MAX_DEPTH) return refuse(reader, path, at, `is nested more than ${MAX_DEPTH} deep: flatten it`)
  if (alias !== null && ++reader.aliased > MAX_ALIASED) return overflow(reader, at)
  if (isAlias(node)) return readAlias(reader, node.source, path, at)
  if (node.anchor !== undefined && alias === null) reader.anchors.set(node.anchor, node)
  if (node.tag !== undefined) {
    const tag = node.tag.replace('tag:yaml.org,2002:', '!!')
    return refuse(reader, path, at, `tag ${quote(tag)} is not allowed: remove it, and quote what is meant as text`)
  }
  if (isScalar(node)) return readScalar(reader, node, path, at)
  reader.open.add(node)
  const tree = isMap(node)
    ? readMap(reader, node.items as Pairs, path, at, alias)
    : readList(reader, (node as YAMLSeq<Node>).items, path, at, alias)
  reader.open.delete(node)
  return tree
}

function readList(reader: Reader, nodes: readonly Node[], path: Path, at: Position, alias: Position | null): Tree {
  return { kind: 'list', ...at, items: nodes.map((node, i) => read(reader, node, [...path, i], alias)) }
}

function readAlias(reader: Reader, name: string, path: Path, at: Position): Tree {
  const target = reader.anchors.get(name)
  if (target !== undefined && reader.open.has(target)) {
    return refuse(reader, path, at, `*${name} stands inside &${name}: write the value out`)
  }
  if (target !== undefined) return read(reader, target, path, at)
  return refuse(
    reader,
    path,
    at,
    `*${name} is an alias, and there is no &${name} before it: quote it if it is meant as text`,
  )
}

function overflow(reader: Reader, at: Position): Tree {
  const message = 'aliases stand for too many values: write them out'
  // Reported once, because the rest of a bomb ends here too.
  return reader.aliased === MAX_ALIASED + 1 ? refuse(reader, [], at, message) : refused(at)
}

type Pairs = { readonly key: Node; readonly value: Node | null }[]

/** The part after the comma in a number such as 1,000, which is a key of its own in braces. */
const THOUSANDS = /^\d{3}$/

function isThousands({ value, key }: Pairs[number]): boolean {
  return value === null && isScalar(key) && THOUSANDS.test(key.source ?? '')
}

function readMap(reader: Reader, pairs: Pairs, path: Path, at: Position, alias: Position | null): Tree {
  const entries = new Map<string, Entry>()
  for (const pair of pairs) {
    const place = alias ?? reader.at(pair.key)
    const key = isThousands(pair) ? NO_COMMA : readKey(pair.key)
    const first = 'text' in key ? entries.get(key.text) : undefined
    if ('problem' in key) reader.findings.push({ path, message: key.problem, at: place })
    else if (first !== undefined) {
      const message = `key ${quote(key.text)} is here twice, first on line ${first.key.line}: remove one of them`
      reader.findings.push({ path, message, at: place })
    } else {
      const value = pair.value === null ? nothing(place) : read(reader, pair.value, [...path, key.text], alias)
      entries.set(key.text, { key: place, value })
    }
  }
  return { kind: 'map', ...at, entries }
}

const NO_COMMA = { problem: 'a comma inside braces begins the next key: write a number without one, like 1000' }

function readKey(node: Node): { readonly text: string } | { readonly problem: string } {
  if (!isScalar(node) || node.value === null) return { problem: 'has a key that is not a text: write name: value' }
  const written = node.source ?? String(node.value)
  if (node.tag !== undefined) return { problem: `has a tag at key ${quote(written)}: remove it` }
  if (node.value === '<<') return { problem: 'merge keys (<<) are not supported: write the values out' }
  const text = String(node.value)
  if (FORBIDDEN_KEYS.has(text)) return { problem: `key ${quote(text)} is not allowed: choose another name` }
  if (typeof node.value !== 'string' && text !== written) {
    return { problem: `key ${written} would be read as ${text}: quote it, or write ${text}` }
  }
  return { text }
}

function readScalar(reader: Reader, node: Scalar, path: Path, at: Position): Tree {
  const { value } = node
  const plain = node.type === 'PLAIN'
  if (typeof value === 'number') {
    const source = node.source ?? ''
    if (!Number.isFinite(value))
      return refuse(
        reader,
        path,
        at,
        `${shown(source)} is not a finite number: write one in digits, or a text in quotes`,
      )
    if (!DECIMAL.test(source)) {
      const cure = 'write it in plain decimal digits, or put a text in quotes'
      return refuse(reader, path, at, `${shown(source)} is read as another number elsewhere: ${cure}`)
    }
  }
  return { kind: 'scalar', ...at, value: value as ScalarTree['value'], plain }
}

/** Long values are not shown, because a secret may consist of digits. */
function shown(source: string): string {
  return source.length <= 15 ? source : 'this value'
}

function refuse(reader: Reader, path: Path, at: Position, message: string): Tree {
  reader.findings.push({ path, message, at })
  return refused(at)
}

function refused(at: Position): ScalarTree {
  return { kind: 'scalar', ...at, value: undefined, plain: true }
}

function nothing(at: Position): ScalarTree {
  return { kind: 'scalar', ...at, value: null, plain: true }
}
