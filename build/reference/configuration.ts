import { parse } from 'yaml'
import { below, type Key, keysOf, kindOf, linkTo, type Node, nameOf } from './schema.ts'

/**
 * The page of all keys of the configuration, made from its JSON Schema. Their examples are the values in config/tollgate.yaml, also
 * those in commented lines.
 */

/** A key of the page. */
interface DescribedKey extends Key {
  /** The key that describes the same keys below it; `null` if they are described here. */
  readonly like: string | null
}

export interface Example {
  readonly path: readonly string[]
  readonly value: unknown
}

const HEAD = `# Configuration, key by key

This page lists every key of \`tollgate.yaml\` in the order of [the commented file](../../config/tollgate.yaml), which you can copy and change. To set up the limits step by step, begin with [getting-started.md](../getting-started.md). [How the file is read](#how-the-file-is-read) is explained at the end of this page.

In the name of a key, \`[]\` stands for each element of a list and \`NAME\` for a name that you choose. \`routes[].cost\` is therefore the key \`cost\` of any rule below \`routes\`. Each example shows the key where it belongs in the file.
`

const FOOT = `## How the file is read

- **Durations** are a whole number with \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`, for example \`90s\`. **Sizes** are a whole number with \`B\`, \`KB\` (1000), \`KiB\` (1024), \`MB\`, \`MiB\`, \`GB\` or \`GiB\`, for example \`64KiB\`.
- **Variables**: \`\${NAME}\` and \`\${NAME:-default}\` are replaced by the value of the environment variable \`NAME\`. If the variable is not set, \`default\` is used. \`\${file:/run/secrets/x}\` is replaced by the text of a file. You can write any value in this way. The replacement happens after the file was parsed, so a value cannot add further keys.
- **Reload**: Tollgate reads the file again when it changes and on \`SIGHUP\`. If the new file has problems, the old configuration stays in force. \`tollgate check -c FILE\` shows every problem with its line before you deploy the file.
`

export function configurationPage(schema: Node, reference: string): string {
  const examples = examplesIn(reference)
  const parts = Object.entries(schema.properties ?? {}).map(([name, node]) => {
    const isRequired = schema.required?.includes(name) ?? false
    return keysOf([{ path: [name], node, isRequired }])
  })
  const all = described(parts.flat())
  const alike = Map.groupBy(all.values(), ({ path, node }) => `${path.at(-1)}: ${node.description}`)
  const sections = parts.map((keys) => {
    const own = keys.flatMap(({ path }) => all.get(nameOf(path)) ?? [])
    return own.map((key, i) => sectionOf(key, i === 0 ? '##' : '###', exampleOf(key, examples, alike))).join('\n')
  })
  const contents = parts.map(([first]) => linkTo(nameOf(first?.path ?? []))).join(' · ')
  return `${HEAD}\n${contents}\n\n${sections.join('\n')}\n${FOOT}`
}

/** The keys by name. The keys below a key are left out if another key, which is no deeper, has them all with the same meaning. */
function described(keys: readonly Key[]): Map<string, DescribedKey> {
  const shapes = new Map<string, Set<string>>()
  const found = new Map<string, DescribedKey>()
  const left: string[] = []
  for (const key of keys.toSorted((a, b) => depthOf(a) - depthOf(b))) {
    const name = nameOf(key.path)
    // A section that may also be a list of such sections has its keys once.
    if (left.some((prefix) => isBelow(name, prefix)) || found.has(name.replaceAll('[]', ''))) continue
    const shape = shapeOf(key.node)
    const like = shape.size === 0 ? undefined : [...shapes].find(([, others]) => shape.isSubsetOf(others))?.[0]
    found.set(name, { ...key, like: like ?? null })
    if (like === undefined) shapes.set(name, shape)
    else left.push(name)
  }
  return found
}

function depthOf({ path }: Key): number {
  return path.filter((part) => part !== '[]').length
}

/** The keys below a node with their meanings. Nodes with the same keys of the same meaning have equal sets. */
function shapeOf(node: Node): Set<string> {
  return new Set(below(node, []).map(({ path, node: { description } }) => `${nameOf(path)}: ${description}`))
}

function isBelow(name: string, prefix: string): boolean {
  return name.startsWith(`${prefix}.`) || name.startsWith(`${prefix}[]`)
}

function sectionOf({ path, node, isRequired, like }: DescribedKey, level: string, example: string | null): string {
  const { text, range, usual } = wordsOf(node)
  const kind = range === null || /\(\d/.test(kindOf(node)) ? kindOf(node) : `${kindOf(node)} (${range})`
  const facts = [kind, ...(isRequired ? ['required'] : []), ...(usual === null ? [] : [`default ${usual}`])]
  const lines = [`${level} \`${nameOf(path)}\``, '', `*${facts.join(' · ')}*`, '']
  if (text !== '') lines.push(`${text}.`, '')
  if (like !== null) lines.push(`The keys below it are those of ${linkTo(like)}.`, '')
  if (example !== null) lines.push(`Example: \`${example}\``, '')
  return lines.join('\n')
}

interface Words {
  readonly text: string
  /** The range as in "1ms to 10m". */
  readonly range: string | null
  readonly usual: string | null
}

/** The parts of a description: its text, and the range and the default that may stand at its end. */
function wordsOf({ description = '', default: value }: Node): Words {
  const [, before, said] = /^(?:([\s\S]*?)[.;] )?Default:? ((?:[^.;]|\.(?! ))+)$/.exec(description) ?? []
  const rest = said === undefined ? description : (before ?? '')
  const [, text = '', range = null] = /^(?:([\s\S]*?)[.,;:] )?((?:above )?\d[\w.%]* to \d[\w.%]*)$/.exec(rest) ?? [
    '',
    rest,
  ]
  if (said !== undefined) return { text, range, usual: wordsOrCode(said, value) }
  return { text, range, usual: value === undefined || isEmpty(value) ? null : `\`${flow(value)}\`` }
}

function wordsOrCode(said: string, value: unknown): string {
  const isValue = said === String(value) || /^(?:[\d.]+\w*%?|true|false)$/.test(said)
  return isValue ? `\`${said}\`` : said
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0
}

/** Keys of one name and one meaning: an example of one is an example of each. */
type Alike = ReadonlyMap<string, readonly Key[]>

/** A value other than the default, if there is one. A section has none, because its keys have their own. */
function exampleOf({ path, node }: Key, examples: readonly Example[], alike: Alike): string | null {
  if (below(node, []).length > 0) return null
  const of = (place: readonly string[]): Example[] =>
    examples.filter(({ path: at, value }) => fits(at, place) && !isEmpty(value) && flow(value).length <= 90)
  const elsewhere = alike.get(`${path.at(-1)}: ${node.description}`) ?? []
  const fitting = [...of(path), ...elsewhere.flatMap((key) => of(key.path)).map(({ value }) => ({ path, value }))]
  const isUsual = ({ value }: Example): boolean => JSON.stringify(value) === JSON.stringify(node.default)
  const chosen = choicesOf(node).map((value): Example => ({ path, value }))
  const all = [...fitting, ...chosen]
  const found = all.find((each) => !isUsual(each)) ?? all[0]
  return found === undefined ? null : flow(placed(path, found)).slice(2, -2)
}

/** The values that a key may have, if there are few. */
function choicesOf({ anyOf = [], enum: values = [], items, type }: Node): readonly unknown[] {
  if (items !== undefined)
    return choicesOf(items)
      .slice(0, 1)
      .map((value) => [value])
  return [...anyOf.flatMap(choicesOf), ...values, ...(type === 'boolean' ? [true, false] : [])]
}

function fits(concrete: readonly string[], path: readonly string[]): boolean {
  return concrete.length === path.length && path.every((part, i) => part === 'NAME' || part === concrete[i])
}

function placed(path: readonly string[], { path: concrete, value }: Example): unknown {
  return path.reduceRight<unknown>(
    (inner, part, i) => (part === '[]' ? [inner] : { [concrete[i] ?? part]: inner }),
    value,
  )
}

/** A value in YAML on one line. */
export function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, each]) => `${scalar(name)}: ${flow(each)}`)
    return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
  }
  return typeof value === 'string' ? scalar(value) : String(value)
}

function scalar(text: string): string {
  return readsAs(`{ x: ${text} }`) === text && !/[`]/.test(text) ? text : JSON.stringify(text)
}

function readsAs(source: string): unknown {
  try {
    return parse(source).x
  } catch {
    return undefined
  }
}

/** Each value of a commented file with its place, in the order of the lines. Values in commented lines count too. */
export function examplesIn(text: string): Example[] {
  const found: Example[] = []
  const parents: { readonly indent: number; readonly path: readonly string[] }[] = []
  for (const line of text.split('\n')) {
    const [, before = '', inner = '', dash = '', rest] =
      /^( *)(?:# )?( *)(- )?(\{.*\}|[\w.-]+:(?: .*)?)(?:\s+#.*)?$/.exec(line) ?? []
    if (rest === undefined) continue
    const indent = before.length + inner.length
    while ((parents.at(-1)?.indent ?? -1) >= indent) parents.pop()
    const path = [...(parents.at(-1)?.path ?? []), ...(dash === '' ? [] : ['[]'])]
    if (dash !== '') parents.push({ indent, path })
    const value = mapOf(rest)
    if (value === undefined) continue
    found.push(...within(path, value))
    const [name] = Object.keys(value)
    const isParent = name !== undefined && (value[name] === null || isEmpty(value[name]))
    if (isParent) parents.push({ indent: indent + dash.length, path: [...path, name] })
  }
  return found.filter(({ value }) => value !== null)
}

function mapOf(source: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = parse(source)
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : undefined
  } catch {
    return undefined
  }
}

function within(path: readonly string[], value: unknown): Example[] {
  if (Array.isArray(value)) return [{ path, value }, ...value.flatMap((each) => within([...path, '[]'], each))]
  if (typeof value !== 'object' || value === null) return [{ path, value }]
  const inner = Object.entries(value).flatMap(([name, each]) => within([...path, name], each))
  return [{ path, value }, ...inner]
}
