import type { Socket } from 'node:net'

/** `HTTPParser.kOnBody` and `HTTPParser.kOnMessageComplete`. */
const [ON_BODY, ON_COMPLETE] = [3, 4] as const

interface Parser {
  [ON_BODY]: ((piece: Buffer) => void) | null
  [ON_COMPLETE]: (() => void) | null
}

/** This many pieces of a body in one turn of the event loop are too many. 64 KiB of chunks of one byte hold up all other connections. */
export const MANY = 1000

/** The present turn of the event loop, counted only while somebody asks. */
let turn = 0
let isCounted = false

function currentTurn(): number {
  if (!isCounted) {
    isCounted = true
    setImmediate(() => {
      isCounted = false
      turn++
    })
  }
  return turn
}

/** Counts the pieces in which a parser hands over bodies. */
export class BodyPieces {
  #count = 0
  #turn = -1
  /** Called once in a turn that brings `MANY` pieces. It returns whether the body ends here for all readers. Default no function. */
  endsAtMany: (() => boolean) | null = null

  /** @returns how many pieces came in this turn */
  add(): number {
    const now = currentTurn()
    if (this.#turn !== now) {
      this.#turn = now
      this.#count = 0
    }
    return ++this.#count
  }

  /** How many pieces came in this turn of the event loop. */
  get ofTurn(): number {
    return this.#turn === currentTurn() ? this.#count : 0
  }
}

const piecesOfParsers = new WeakMap<Parser, BodyPieces>()

/**
 * Counts the pieces in which the parser of a connection hands over the bodies of its requests, also bodies that nobody reads.
 *
 * For each chunk, also one of a single byte, Node's parser makes a Buffer and calls a method of its own (26.10). Without the method it
 * makes no Buffer, and the chunk costs next to nothing. Parsers serve one connection after another.
 *
 * @returns the count, kept up to date; `null` if the connection has no parser
 */
export function bodyPiecesOf(socket: Socket): BodyPieces | null {
  const { parser } = socket as unknown as { parser?: Parser | null }
  if (parser == null) return null
  const known = piecesOfParsers.get(parser)
  if (known !== undefined) {
    known.endsAtMany = null
    return known
  }
  const pieces = new BodyPieces()
  const asNode = parser[ON_BODY]
  parser[ON_BODY] = function (this: Parser & { readonly socket: Socket }, piece) {
    asNode?.call(this, piece)
    if (pieces.add() === MANY && pieces.endsAtMany?.()) endBody(this)
  }
  piecesOfParsers.set(parser, pieces)
  return pieces
}

/**
 * Hides the rest of the body and its end from everybody. When the connection is closed, Node gives the parser to another connection, so
 * the methods are put back just before.
 */
function endBody(parser: Parser & { readonly socket: Socket }): void {
  const { [ON_BODY]: onBody, [ON_COMPLETE]: onComplete } = parser
  parser[ON_BODY] = null
  parser[ON_COMPLETE] = null
  parser.socket.prependOnceListener('close', () => {
    parser[ON_BODY] = onBody
    parser[ON_COMPLETE] = onComplete
  })
}
