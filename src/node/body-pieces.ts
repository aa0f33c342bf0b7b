import type { Socket } from 'node:net'

/** `HTTPParser.kOnBody`. */
const ON_BODY = 3

interface Parser {
  [ON_BODY]: (piece: Buffer) => void
}

/** Of the event loop, counted while somebody asks. */
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

/** In how many pieces a parser has handed over bodies. */
export class BodyPieces {
  #count = 0
  #turn = -1

  add(): void {
    const now = currentTurn()
    if (this.#turn !== now) {
      this.#turn = now
      this.#count = 0
    }
    this.#count++
  }

  /** How many there were in this turn of the event loop. */
  get ofTurn(): number {
    return this.#turn === currentTurn() ? this.#count : 0
  }
}

const piecesOfParsers = new WeakMap<Parser, BodyPieces>()

/**
 * Counts the pieces in which the parser of a connection hands over the bodies of its requests, also of those that nobody reads.
 *
 * For each chunk, also one of a single byte, Node's parser makes a Buffer and calls a method of its own (26.10). Parsers serve one
 * connection after another.
 *
 * @returns kept up to date; `null` if the connection has no parser
 */
export function bodyPiecesOf(socket: Socket): BodyPieces | null {
  const { parser } = socket as unknown as { parser?: Parser | null }
  if (parser == null) return null
  const known = piecesOfParsers.get(parser)
  if (known !== undefined) return known
  const pieces = new BodyPieces()
  const asNode = parser[ON_BODY]
  parser[ON_BODY] = function (this: Parser, piece) {
    pieces.add()
    asNode.call(this, piece)
  }
  piecesOfParsers.set(parser, pieces)
  return pieces
}
