import type { Batch, Decision } from '../../src/quota/charge.ts'
import type { World } from './world.ts'

/** A batch that the store has applied and forgotten. */
interface LostBatch {
  readonly batch: Batch
  readonly decisions: readonly Decision[]
  /** Whether it was applied once more, because nobody knew that it had been. */
  isBack: boolean
  /** Whether its gateway has said so. */
  isReported: boolean
}

/** What a store told a gateway that it knows no more. */
interface Told {
  /** The last batch that the store knows. */
  readonly after: number
  /** The last batch of which the gateway knew. */
  readonly last: number
}

/** What the gateways of one start have lost, and what they said of it. */
interface Instance {
  readonly lost: Map<number, LostBatch>
  /** What it was told, by the batch that was refused. */
  readonly told: Map<string, Told>
  /** Tokens that it reported as lost. */
  reported: number
}

/** The batches that failovers took with them, and what each gateway must know of its own. */
export class LostBatches {
  readonly #world: World
  readonly #lives: (instance: string) => boolean
  readonly #instances = new Map<string, Instance>()

  /** @param lives whether a gateway has neither crashed nor closed */
  constructor(world: World, lives: (instance: string) => boolean) {
    this.#world = world
    this.#lives = lives
  }

  /** A failover took a batch with it. */
  took(batch: Batch, decisions: readonly Decision[]): void {
    this.#of(batch.instance).lost.set(batch.sequence, { batch, decisions, isBack: false, isReported: false })
  }

  /** The store has applied a batch. */
  applied({ instance, sequence }: Batch): void {
    const lost = this.#of(instance).lost.get(sequence)
    if (lost !== undefined) lost.isBack = true
  }

  /** The store tells a gateway that it knows none of its batches behind one. */
  tells(batch: Batch, told: Told): void {
    this.#of(batch.instance).told.set(nameOf(batch, told.last), told)
  }

  /** What a batch must be when it is sent again after that; `null` if the store has not refused it so. */
  remade(before: Batch): Batch | null {
    const told = this.#toldOf(before)
    if (told === null) return null
    const isKept = ({ batch }: Decision): boolean => batch === undefined || !this.isKnown(before.instance, batch)
    return { ...before, after: told.after, refunds: before.refunds.filter(({ decision }) => isKept(decision)) }
  }

  /** A gateway says how much it has lost: exactly what the store told it. @param batch that it sent last */
  reports(batch: Batch, tokens: number, since: number): void {
    const of = this.#of(batch.instance)
    const told = this.#toldOf(batch)
    const lost = [...of.lost.values()].filter(
      ({ batch, isReported }) => told !== null && !isReported && isIn(told, batch.sequence),
    )
    for (const each of lost) each.isReported = true
    const charged = lost.filter((each) => tokensOf(each) > 0)
    const expected = charged.reduce((sum, each) => sum + tokensOf(each), 0)
    const first = charged[0]?.decisions[0]?.at
    if (tokens !== expected || since !== first) {
      this.#world.fail(`${batch.instance} lost ${expected} since ${first}, and says ${tokens} since ${since}`)
    }
    of.reported += tokens
  }

  #toldOf(batch: Batch): Told | null {
    return this.#of(batch.instance).told.get(nameOf(batch, batch.after ?? 0)) ?? null
  }

  /** Whether a gateway knows that a batch of it is lost. */
  isKnown(instance: string, sequence: number): boolean {
    return [...this.#of(instance).told.values()].some((told) => isIn(told, sequence))
  }

  /**
   * Whether a batch is lost for good: its gateway has learnt that, or ended before it could. One of which a gateway never knew that it was
   * applied is no loss to it: what it held is sent again, if anybody still wants it.
   */
  isGone(instance: string, sequence: number): boolean {
    const isLost = this.#of(instance).lost.get(sequence)?.isBack === false
    return isLost && (this.isKnown(instance, sequence) || !this.#lives(instance))
  }

  /** All that are gone. */
  gone(): LostBatch[] {
    const all = [...this.#instances.values()].flatMap(({ lost }) => [...lost.values()])
    return all.filter(({ batch }) => this.isGone(batch.instance, batch.sequence))
  }

  /** @returns tokens of charges that are gone. A gateway that lives must have said so of its own */
  settled(): number {
    const gone = this.gone()
    for (const [instance, { reported }] of this.#instances) {
      const own = gone.filter(({ batch }) => batch.instance === instance).reduce((sum, each) => sum + tokensOf(each), 0)
      if (this.#lives(instance) && reported !== own)
        this.#world.fail(`${instance} lost ${own} in all, and said ${reported}`)
    }
    return gone.reduce((sum, each) => sum + tokensOf(each), 0)
  }

  #of(instance: string): Instance {
    const known = this.#instances.get(instance) ?? { lost: new Map(), told: new Map(), reported: 0 }
    this.#instances.set(instance, known)
    return known
  }
}

function nameOf({ sequence }: Batch, after: number): string {
  return `${sequence} after ${after}`
}

function isIn({ after, last }: Told, sequence: number): boolean {
  return sequence > after && sequence <= last
}

/** Those of its charges, without what it gave back. */
function tokensOf({ batch, decisions }: LostBatch): number {
  return batch.charges.reduce((sum, { cost, others = [] }, i) => {
    const { accepted, once } = decisions[i] as Decision
    if (!accepted || once?.kind === 'replayed') return sum
    return others.reduce((all, meter) => all + meter.cost, sum + cost)
  }, 0)
}
