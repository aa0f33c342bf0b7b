import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { API, type Checker, type Symbol as Named, SymbolFlags, type Type } from 'typescript/unstable/sync'

/**
 * Writes the types of the admin API for the package: those of `src/contract/api.ts` with the schemas resolved, so that a user
 * of them needs neither the schemas nor zod. The compiler's own declarations would name both, and lose the comments of the
 * fields.
 */

const root = fileURLToPath(new URL('..', import.meta.url))

/** @returns a module of types that imports nothing */
export function apiTypes(): string {
  const file = join(root, 'src/contract/api.ts')
  const api = new API({ cwd: root })
  try {
    const snapshot = api.updateSnapshot({ openProjects: [join(root, 'tsconfig.build.json')] })
    const [project] = snapshot.getProjects()
    const source = project?.program.getSourceFile(file)
    const module = source && project?.checker.getSymbolAtLocation(source)
    if (project === undefined || module === undefined) throw new Error(`${file} is no module of the build`)
    const { checker } = project
    const symbols = checker.getExportsOfModule(module)
    const named = new Map(symbols.map((symbol) => [checker.getDeclaredTypeOfSymbol(symbol).id, symbol.name]))
    const writing: Writing = { checker, named, within: new Set() }
    return symbols.map((symbol) => declaration(writing, symbol)).join('\n')
  } finally {
    api.close()
  }
}

interface Writing {
  readonly checker: Checker
  /** The exported types, by the compiler's number. */
  readonly named: ReadonlyMap<number, string>
  /** The types whose members are being written. Such a type within itself is written by its name. */
  readonly within: Set<number>
}

function declaration(writing: Writing, symbol: Named): string {
  const type = written(writing, writing.checker.getDeclaredTypeOfSymbol(symbol), '')
  return `${comment(writing.checker, symbol, '')}export type ${symbol.name} = ${type}\n`
}

/** @throws Error for a type that contains itself and is not exported */
function written(writing: Writing, type: Type, indent: string): string {
  const { checker, named, within } = writing
  if (type.isUnionType()) return union(type.getTypes().map((each) => written(writing, each, indent)))
  if (type.isIntersectionType()) {
    const parts = type.getTypes().map((each) => written(writing, each, indent))
    return parts.join(' & ')
  }
  if (!type.isObjectType()) return checker.typeToString(type)
  const [element] = checker.isArrayType(type) && type.isTypeReference() ? checker.getTypeArguments(type) : []
  if (element !== undefined) {
    const text = written(writing, element, indent)
    return element.isUnionType() ? `readonly (${text})[]` : `readonly ${text}[]`
  }
  if (within.has(type.id)) {
    const name = named.get(type.id)
    if (name === undefined) throw new Error(`export ${checker.typeToString(type)}, which holds itself`)
    return name
  }
  within.add(type.id)
  const text = `{\n${members(writing, type, `${indent}  `)}${indent}}`
  within.delete(type.id)
  return text
}

/** `true | false` is `boolean`, and `null` stands last. */
function union(texts: readonly string[]): string {
  const isBoolean = texts.includes('true') && texts.includes('false')
  const named = isBoolean ? ['boolean', ...texts.filter((text) => text !== 'true' && text !== 'false')] : [...texts]
  return named.sort((a, b) => Number(a === 'null') - Number(b === 'null')).join(' | ')
}

function members(writing: Writing, type: Type, indent: string): string {
  const { checker } = writing
  const named = checker.getPropertiesOfType(type).map((symbol) => {
    const value = written(writing, checker.getTypeOfSymbol(symbol) as Type, indent)
    const isOptional = (symbol.flags & SymbolFlags.Optional) !== 0
    const member = isOptional
      ? `${symbol.name}?: ${value.replace(/^undefined \| | \| undefined$/, '')}`
      : `${symbol.name}: ${value}`
    return `${comment(checker, symbol, indent)}${indent}readonly ${member}\n`
  })
  const indexed = checker.getIndexInfosOfType(type).map(({ keyType, valueType }) => {
    return `${indent}readonly [key: ${written(writing, keyType, '')}]: ${written(writing, valueType, indent)}\n`
  })
  return [...named, ...indexed].join('')
}

function comment(checker: Checker, symbol: Named, indent: string): string {
  const text = symbol.getDocumentationComment(checker)
  return text === '' ? '' : `${indent}/** ${text.replaceAll('\n', `\n${indent} * `)} */\n`
}

if (import.meta.main) {
  const target = process.argv[2] ?? join(root, 'dist/contract/api.d.ts')
  mkdirSync(dirname(target), { recursive: true })
  writeFileSync(target, apiTypes())
}
