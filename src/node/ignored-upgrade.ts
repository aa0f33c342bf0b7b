import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isStopping, STOPPED } from './parser-stop.ts'

type Result = number | Error | undefined

/** `HTTPParser.kOnExecute`. */
const ON_EXECUTE = 5

interface Parser {
  readonly incoming: (IncomingMessage & { upgrade?: boolean | null }) | null
  execute(bytes: Buffer): Result
  getCurrentBuffer(): Buffer
  /** Called with the result of the native parser for bytes that it read by itself. */
  [ON_EXECUTE]: (result: Result) => void
}

/** Requests whose upgrade was ignored, by the parser that reads them or has just read them. */
const ignored = new WeakMap<Parser, IncomingMessage | null>()
/** The `execute` that each parser had from Node. Parsers serve one connection after another, and keep the method that replaces it. */
const executes = new WeakMap<Parser, Parser['execute']>()
const followed = new WeakSet<Socket>()

/**
 * Prepares the parser of a new connection for `readBehindUpgrade`, in case its stream hands over the bytes by `execute`. While that
 * call runs it would be too late to replace the method.
 */
export function prepareParser(socket: Socket): void {
  const { parser } = socket as unknown as { parser?: Parser | null }
  if (parser == null || executes.has(parser)) return
  executes.set(parser, parser.execute)
  parser.execute = (bytes) => readOn(parser, bytes, nativeExecute(parser, bytes))
}

/**
 * Lets a connection continue after a request that asks for an upgrade and is served as a plain one (RFC 9110 section 7.8).
 *
 * Node's parser stops after such a request, whatever `shouldUpgradeCallback` returns, and Node throws away the rest of the read (26.10).
 * The rest may be a pipelined request or the beginning of one, so that the next read begins in the middle of a message. Until its next
 * valid head the parser also reports no error, so the body or head would be waited for in vain. So the rest of the read goes to the parser
 * again, and a stop anywhere else is reported as the error that it is.
 *
 * Must be called within `shouldUpgradeCallback`.
 *
 * @param req of a connection for which `prepareParser` was called
 */
export function readBehindUpgrade(req: IncomingMessage): void {
  const { socket } = req
  const { parser } = socket as unknown as { parser: Parser | null }
  if (parser === null) return
  ignored.set(parser, req)
  if (followed.has(socket)) return
  followed.add(socket)
  const asNode = parser[ON_EXECUTE]
  parser[ON_EXECUTE] = (result) => asNode(readOn(parser, parser.getCurrentBuffer(), result))
}

function nativeExecute(parser: Parser, bytes: Buffer): Result {
  return (executes.get(parser) ?? parser.execute).call(parser, bytes)
}

/** @returns the result for Node of the whole read: how many bytes the parser has had, or its error */
function readOn(parser: Parser, bytes: Buffer, first: Result): Result {
  let at = 0
  let result = first
  while (typeof result === 'number' && parser.incoming?.upgrade !== true) {
    const isDone = at + result === bytes.length
    const isWhole = ignored.get(parser)?.complete === true
    // A later stop is not caused by this request.
    if (isWhole) ignored.set(parser, null)
    if (isDone) break
    if (!isWhole) return stopped(parser)
    at += result
    result = nativeExecute(parser, bytes.subarray(at))
  }
  return typeof result === 'number' ? at + result : result
}

function stopped(parser: Parser): Error {
  if (isStopping(parser)) return Object.assign(new Error('Parser is stopped'), { code: STOPPED })
  return Object.assign(new Error('Parse Error'), { code: 'HPE_USER', reason: 'malformed behind an upgrade' })
}
