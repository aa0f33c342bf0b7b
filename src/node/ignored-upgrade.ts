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
  /** Called with what the native part made of bytes that it read by itself. */
  [ON_EXECUTE]: (result: Result) => void
}

/** Requests whose upgrade was ignored, by the parser that is within them, or has just read them. */
const ignored = new WeakMap<Parser, IncomingMessage | null>()
/** Parsers serve one connection after another, and keep their own `execute`. */
const executes = new WeakMap<Parser, Parser['execute']>()
const followed = new WeakSet<Socket>()

/**
 * Prepares the parser of a new connection for `readBehindUpgrade`, should its stream hand over what was read: that is too late to do
 * within the call.
 */
export function prepareParser(socket: Socket): void {
  const { parser } = socket as unknown as { parser?: Parser | null }
  if (parser == null || executes.has(parser)) return
  executes.set(parser, parser.execute)
  parser.execute = (bytes) => readOn(parser, bytes, nativeExecute(parser, bytes))
}

/**
 * Lets a connection go on behind a request that asks for an upgrade and is served as a plain one (RFC 9110 section 7.8).
 *
 * Node's parser stops behind such a request, whatever `shouldUpgradeCallback` says, and Node throws away what else the read has brought
 * (26.10): a request that was pipelined, or the beginning of one, so that the next read begins in the middle of a message. From then on, up
 * to the next head that it takes, it also reports no error: the body or head would be waited for in vain. So what is left of the read goes to
 * the parser again, and a stop anywhere else is reported as the error that it is.
 *
 * @param req of a connection for which `prepareParser` was called, and of which `shouldUpgradeCallback` has been asked, within that call
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

/** @returns what Node is to know of the whole read: how many bytes the parser has had, or its error */
function readOn(parser: Parser, bytes: Buffer, first: Result): Result {
  let at = 0
  let result = first
  while (typeof result === 'number' && parser.incoming?.upgrade !== true) {
    const isDone = at + result === bytes.length
    const isWhole = ignored.get(parser)?.complete === true
    // The next stop behind it is none that this request has made.
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
