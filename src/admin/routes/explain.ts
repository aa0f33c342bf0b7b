import { z } from 'zod'
import * as schemas from '../../contract/admin.ts'
import type { ExplainResponse } from '../../contract/api.ts'
import { isUserId, USER_ID } from '../../control/user-id.ts'
import type { Payer } from '../../quota/policy.ts'
import type { UsageSnapshot } from '../../quota/quota-store.ts'
import type { Desk } from '../desk.ts'
import { type AdminResponse, badFields, type FieldProblem, ok, type Route } from '../http.ts'
import { route } from '../route.ts'
import type { View } from '../state.ts'

export interface InForce {
  readonly view: View
  /** The user's counters, for the `countedOf` of the view's policy. */
  readonly snapshot: UsageSnapshot
  /** The user with the plan and organisation of the question, or else those that the user's credential last named. */
  readonly payer: Payer
}

/** A part of the question that does not fit the request. If it was ignored, the caller would believe that it was used. */
export interface WrongQuestion {
  readonly problem: FieldProblem
}

/**
 * @param inForce is called only for a request that is charged. Others are explained even while the store is out
 * @throws StoreError of `inForce`
 */
export type Explain = (question: Question, inForce: () => Promise<InForce>) => Promise<ExplainResponse | WrongQuestion>

const once = z.string({ error: 'must be given, once' })
function text(max: number) {
  const error = `must have 1 to ${max} characters`
  return once.min(1, { error }).max(max, { error })
}
const BYTES = 'must be a whole number of bytes'
const COST = 'must be a whole number of tokens from 0 to 1000000000'

const Asked = z.strictObject({
  user: once.refine(isUserId, { error: `must be a user id: ${USER_ID}` }),
  method: text(32)
    .regex(/^[A-Za-z-]+$/, { error: 'must be an HTTP method such as GET' })
    .transform((method) => method.toUpperCase()),
  path: text(8192).describe('The path as a client would send it, beginning with "/"'),
  // Only digits, because `cost=` without a value does not mean a cost of 0.
  cost: z
    .string({ error: COST })
    .regex(/^\d{1,10}$/, { error: COST })
    .transform(Number)
    .refine((cost) => cost <= 1e9, { error: COST })
    .optional()
    .describe('The tokens, if the cost depends on the request. It must be a cost that the route can have'),
  bytes: z
    .string({ error: BYTES })
    .regex(/^\d{1,15}$/, { error: BYTES })
    .transform(Number)
    .optional()
    .describe('The length of the body in bytes'),
  plan: once
    .refine(isUserId, { error: `must be the name of a plan: ${USER_ID}` })
    .optional()
    .describe('The plan that the credential names. Default none'),
  organisation: once
    .refine(isUserId, { error: `must be an organisation: ${USER_ID}` })
    .optional()
    .describe('The organisation that the credential names. Default none'),
  value: text(256).optional().describe('The value that decides the cost, or the number, or the number of elements'),
  body: text(8192).optional().describe('The JSON body, if the cost depends on it'),
})

/** A request to be explained. It need not have been made. */
export type Question = Readonly<z.infer<typeof Asked>>

/** The route of explanations. */
export function explainRoutes(desk: Desk, explain: Explain): Route[] {
  return [
    route('GET', '/api/explain', {
      summary: 'What the gateway would do with a request now, and why',
      query: Asked,
      responses: { 200: schemas.explain },
      handle: ({ query }) => responseTo(desk, explain, query),
    }),
  ]
}

async function responseTo(desk: Desk, explain: Explain, question: Question): Promise<AdminResponse> {
  const response = await explain(question, () => inForceFor(desk, question))
  return 'problem' in response ? badFields([response.problem]) : ok(response)
}

/** Everything that would decide about a request of the question's user now. @throws StoreError */
export async function inForceFor(desk: Desk, { user, plan, organisation }: Question): Promise<InForce> {
  const [view, last] = await Promise.all([desk.view(user), desk.payerOf(user)])
  const payer = { ...last, plan: plan ?? last.plan, organisation: organisation ?? last.organisation }
  return { view, payer, snapshot: await desk.store.readUsage(user, view.policy.countedOf(payer), payer.organisation) }
}
