import type { ExplainResponse, ReasonCode, ReasonValues } from '../contract/api.ts'
import { STATUS_OF } from '../errors.ts'
import type { PlanRefusal } from '../gateway/plan.ts'

/** A sentence of `why`, with its code and the values in it. */
export interface Reason {
  readonly text: string
  readonly code: ReasonCode
  readonly values: ReasonValues
}

/** The part of an explanation that says why, made from one or more reasons. */
export function because(...reasons: readonly Reason[]): Pick<ExplainResponse, 'why' | 'reasons'> {
  return {
    why: reasons.map(({ text }) => text).join(' '),
    reasons: reasons.map(({ code, values }) => ({ code, values })),
  }
}

function reason(code: ReasonCode, text: string, values: ReasonValues = {}): Reason {
  return { text, code, values }
}

/** All English sentences of an explanation. The dashboard has a sentence for each code in its other languages. */
export const REASONS = {
  /** The status and the sentence for the client. A method that is not accepted has no status: unknown to Node's parser it gets 501, else 405. */
  denied: ({ code, denial, values }: PlanRefusal) =>
    code === 'method_not_accepted'
      ? reason(code, 'The gateway accepts no request of this method.')
      : reason(code, `${STATUS_OF[denial.code]}: ${denial.msg}`, values),

  own: reason('own_path', 'The gateway answers this itself: it asks for a credential and charges nothing.'),
  options: reason('own_options', 'The gateway answers this itself, for everybody.'),
  document: reason('public_document', 'The gateway answers this itself, for everybody (public).'),
  page: reason('reference_page', 'The gateway answers this itself, with the page of the API, for everybody.'),
  free: reason('public_route', 'The route is public: it asks for no credential and charges nothing.'),
  forwarded: reason(
    'unmatched_forwarded',
    'No route matches, and "unmatched: forward" lets it through without a charge.',
  ),
  costsNothing: reason('costs_nothing', 'It asks for a credential and costs nothing.'),

  exempt: reason('exempt', 'The user is exempt (quota.exempt): a credential is needed, and nothing is charged.'),

  /** @param msg exactly the sentence for the client */
  notPriced: (msg: string) => reason('not_priced', `400: ${msg}`, { msg }),
  noPrice: reason('no_price', 'The gateway cannot tell the cost, for which the response would be 400.'),
  dependsOnBody: reason(
    'depends_on_body',
    'The cost depends on what the request asks for: the cheapest one fits now. Name its cost, the value or the body to know for certain.',
  ),

  room: (cost: number | string) => reason('room', `All windows have room for ${cost}.`, { cost }),
  roomGlobalOff: (cost: number | string) =>
    reason('room_global_off', `All windows have room for ${cost}; the global limits do not apply: switched off.`, {
      cost,
    }),
  roomNoGlobal: (cost: number | string) =>
    reason('room_no_global', `All windows have room for ${cost}; all users together have no limit.`, { cost }),
  roomBypass: (cost: number | string, why: string) =>
    reason('room_bypass', `All windows have room for ${cost}; the global limits do not apply: bypass (${why}).`, {
      cost,
      reason: why,
    }),

  paidByGrants: (values: { readonly cost: number | string; readonly grants: string }) =>
    reason(
      'paid_by_grants',
      `Not all windows have room for ${values.cost}, and extra tokens pay for it: ${values.grants}.`,
      values,
    ),

  /** @param msg exactly the sentence for the client */
  refused: (msg: string, values: ReasonValues) => reason('refused', `429: ${msg}`, values),
  wouldBeRefused: (msg: string, values: ReasonValues) => reason('would_be_refused', msg, values),
  neverFits: (msg: string, values: ReasonValues) => reason('never_fits', `429: ${msg}`, values),
  wouldNeverFit: (msg: string, values: ReasonValues) => reason('would_never_fit', msg, values),
  newUser: (values: { readonly kept: number; readonly whole: number; readonly after: string }) =>
    reason(
      'new_user',
      `The user is new: of ${values.whole} tokens ${values.kept} are kept for known users, whose first charge lies at least ${values.after} ago.`,
      values,
    ),
  costs: (cost: number) => reason('costs', `This costs ${cost}.`, { cost }),
  costsAtLeast: (cost: number) => reason('costs_at_least', `Even the cheapest request costs ${cost}.`, { cost }),
  shadowOfGateway: reason('shadow_gateway', 'Shadow mode is on for the gateway, so it is let through and told.'),
  shadowOfRoute: reason('shadow_route', 'Shadow mode is on for the route, so it is let through and told.'),
  shadowOfUser: reason('shadow_user', 'Shadow mode is on for the user, so it is let through and told.'),
} as const
