import { STATUS_OF as ADMIN_STATUS_OF, type AdminError } from '../../src/admin/http.ts'
import { type ErrorCode, STATUS_OF } from '../../src/errors.ts'

/** The page of every `error` code: the tables of src/errors.ts and src/admin/http.ts, with the meaning and the cure of each code. */

type Charged = 'no' | 'yes' | 'perhaps' | 'given back'

interface Told {
  readonly means: string
  /** Whether the request was charged. Default no. */
  readonly charged?: Charged
  readonly cure: string
}

const GATEWAY: Readonly<Record<ErrorCode, Told>> = {
  bad_request: {
    means: 'The request is not well formed, or its cost cannot be read from its body, query or headers.',
    cure: 'Change the request as `msg` says. Sending the same request again does not help.',
  },
  unauthorized: {
    means: 'The credential is missing, has expired or is not accepted.',
    cure: 'Get a new credential. If all clients get 401, read `reason` in [the log](../log.md) as the operator, and see [troubleshooting](../troubleshooting.md#everything-is-401).',
  },
  no_route: {
    means: 'No rule below `routes` matches the path.',
    cure: 'Check the path. As the operator, add a rule below [`routes`](configuration.md#routes), or set [`unmatched`](configuration.md#unmatched).',
  },
  method_not_allowed: {
    means: 'A rule matches the path, but with another method.',
    cure: 'Use a method that the header `Allow` of the response lists.',
  },
  request_timeout: {
    means: 'The header fields or the body of the request arrived too slowly.',
    cure: 'Send the request again over a faster connection. The operator can change the bounds `edge.headers_timeout`, `edge.min_upload_rate` and `edge.upload_grace`.',
  },
  payload_too_large: {
    means:
      'The body is longer than `edge.max_body`. If the cost is read from the body, the body may instead be longer than the `max_body` of its price.',
    cure: 'Send a smaller body, or ask the operator for a higher [`edge.max_body`](configuration.md#edgemax_body).',
  },
  uri_too_long: {
    means: 'The path and the query together are longer than `edge.max_url`, which is 8 KiB by default.',
    cure: 'Move parameters from the query into a body.',
  },
  expectation_failed: {
    means: 'The header `Expect` of the request has another value than `100-continue`.',
    cure: 'Leave the header `Expect` out.',
  },
  idempotency_key_reused: {
    means:
      'An earlier request with the same idempotency key had another body, `Content-Type`, `Content-Encoding` or priced header.',
    cure: 'To repeat the earlier request, send it exactly as before. With a new key the service may carry the request out twice, so use a new key only for a new request.',
  },
  quota_exceeded: {
    means: 'A limit of the user, of the organisation or of all users together has no room for the request.',
    cure: 'Wait for `Retry-After` seconds, as [the page for clients](../clients.md#waiting) explains. If the response has `X-Tollgate-Quota-State: never`, waiting does not help. An administrator can raise a limit as the [cookbook](../cookbook.md) shows.',
  },
  too_many_in_flight: {
    means:
      'The user, the address or the connection has too many requests at the same time, or has sent too many wrong credentials.',
    cure: 'Wait for `Retry-After` seconds and send fewer requests at the same time. [What one client can take](../bounds.md) explains the bounds.',
  },
  headers_too_large: {
    means:
      'The request line and the header fields are longer than `edge.max_header_size`, which is 16 KiB by default, or there are more than 200 fields.',
    cure: 'Send fewer cookies and shorter header fields.',
  },
  internal: {
    means: 'Tollgate itself has a fault.',
    charged: 'perhaps',
    cure: 'Report the fault with the `X-Request-Id` of the response. The line with this `requestId` in the log has the details.',
  },
  not_implemented: {
    means: 'The request uses a part of HTTP that Tollgate does not support, such as `CONNECT` or `TRACE`.',
    cure: 'Use another method or coding, as `msg` says.',
  },
  upstream_unreachable: {
    means: 'The gateway could not connect to the service.',
    charged: 'given back',
    cure: 'Try again after a pause that grows with each attempt. As the operator, check that the service runs at `upstream.url`, and see the [runbook](../runbook.md).',
  },
  bad_upstream_answer: {
    means: 'The response of the service ended too early, or is not valid HTTP.',
    charged: 'yes',
    cure: 'Repeat the request only if a second execution does no harm. As the operator, read `reason` in the log and the page on [the upstream](../upstream.md).',
  },
  store_unavailable: {
    means:
      'The store of the gateway does not respond, and `quota.store_outage` does not let requests of this category pass without the store.',
    cure: 'Try again after `Retry-After` seconds, and after a longer pause with each attempt. As the operator, see [outages of the store](../outage.md).',
  },
  overloaded: {
    means:
      'The gateway has reached a bound, such as the number of requests at the same time, or cannot keep up with its work.',
    cure: 'Try again after `Retry-After` seconds, and after a longer pause with each attempt. As the operator, read in the log which bound was reached, and see [bounds](../bounds.md).',
  },
  upstream_timeout: {
    means: 'The service did not begin its response within `upstream.response_timeout`, which is 30 seconds by default.',
    charged: 'yes',
    cure: 'Repeat the request only if a second execution does no harm. As the operator, raise [`routes[].response_timeout`](configuration.md#routesresponse_timeout) of a slow route.',
  },
  version_not_supported: {
    means: 'The request uses another version of HTTP than 1.1 or 1.0.',
    cure: 'Send the request by HTTP/1.1. If clients need HTTP/2, put a proxy that supports it in front of Tollgate.',
  },
}

const ADMIN: Readonly<Record<AdminError, Omit<Told, 'charged'>>> = {
  bad_request: {
    means: 'A parameter or a field of the body has a value that is not allowed.',
    cure: 'Change each place that `problems` names, as its `msg` says.',
  },
  unauthorized: {
    means: 'The admin token or the session is missing, wrong or has ended.',
    cure: 'Send `Authorization: Bearer TOKEN` with a token of the configuration, or sign in again.',
  },
  sign_in_failed: {
    means: 'The provider did not confirm the sign-in.',
    cure: 'Begin the sign-in again. The log has the reason.',
  },
  no_admin_token: {
    means: 'The configuration has no admin token, so nobody can use the API.',
    cure: 'Set [`admin.token`](configuration.md#admintoken) and restart the gateway.',
  },
  host_not_allowed: {
    means: 'The header `Host` of the request names a host that the admin listener does not accept.',
    cure: 'Add the name to [`admin.hosts`](configuration.md#adminhosts), or use an IP address.',
  },
  not_from_browsers: {
    means: 'A web page sent a request that is only for scripts and probes.',
    cure: 'Send the request with a script or with `curl`.',
  },
  not_from_our_page: {
    means: 'A page of another origin sent a request with the session of the dashboard.',
    cure: 'Open the dashboard under the same host name under which you signed in. If a proxy stands in front, let it pass `Host` on.',
  },
  forbidden: {
    means:
      'The role of the token or the session does not allow this. A `viewer` cannot change anything, and a lead can see and change only what belongs to the own organisation.',
    cure: 'Use a token of the role `admin`, or see [all operations and their roles](admin-api.md#all-operations-and-their-roles).',
  },
  no_role: {
    means: 'The person has signed in at the provider, but belongs to no group that has a role.',
    cure: 'Add a group of the person to [`admin.oidc.roles`](configuration.md#adminoidcroles).',
  },
  not_found: {
    means: 'The thing that the path names does not exist.',
    cure: 'Look for the name in the list, and check that it is percent-encoded in the path.',
  },
  method_not_allowed: {
    means: 'The path exists, but not with this method.',
    cure: 'Use a method that the header `Allow` of the response lists.',
  },
  request_timeout: { means: 'The request arrived too slowly.', cure: 'Send the request again.' },
  conflict: {
    means: 'Somebody changed or ended the same thing at the same moment.',
    cure: 'Read the present state, then decide whether you still want your change.',
  },
  version_conflict: {
    means:
      'Somebody has changed the thing since you read it: the version in `If-Match` is no longer the present version.',
    cure: 'Read the present state and its `ETag`, and send the change again with this `ETag` in `If-Match`.',
  },
  changed_since: {
    means: 'A later change has replaced the values of the change that you want to undo.',
    cure: 'Look at `changed` in the response, and set the values yourself.',
  },
  payload_too_large: {
    means: 'The body is too long. It may have 64 KiB, a sign-in 4 KiB, and a file of lines 10 MiB.',
    cure: 'Send a shorter body. If it is a file of lines, send the lines in several requests.',
  },
  unsupported_media_type: {
    means: 'The body has a type that this operation does not read.',
    cure: 'Send JSON with `Content-Type: application/json`, or the type that the operation names.',
  },
  not_undoable: {
    means: 'A change of this kind cannot be undone, for example a revoked access key.',
    cure: 'Make a new change instead, as `msg` says.',
  },
  idempotency_key_reused: {
    means: 'An earlier request with the same `Idempotency-Key` asked for something else.',
    cure: 'To repeat the earlier request, send it exactly as before. With a new key the same thing may be made twice, so use a new key only for a new request.',
  },
  too_many_attempts: {
    means: 'Your address has sent ten wrong tokens or codes within a minute.',
    cure: 'Wait a minute. The right token is accepted at any time.',
  },
  headers_too_large: {
    means: 'The request line and the header fields are too long.',
    cure: 'Send fewer cookies and shorter header fields.',
  },
  internal: {
    means: 'Tollgate itself has a fault.',
    cure: 'Report the fault with the line that the log has about it.',
  },
  store_unavailable: {
    means: 'The store does not respond.',
    cure: 'Try again later. Meanwhile the paths that begin with `/api/in-force` work, because they do not need the store.',
  },
  outcome_unknown: {
    means: 'The store failed in the middle of a change, so the gateway does not know whether the change was made.',
    cure: 'Repeat the change with `If-Match`, or read the state first.',
  },
  provider_unavailable: {
    means: 'The identity provider in `admin.oidc` does not respond.',
    cure: 'Try again later, or sign in with an admin token.',
  },
  overloaded: {
    means: 'Too many connections to the admin listener are open.',
    cure: 'Try again after `Retry-After` seconds.',
  },
}

const HEAD = `# Error codes

If Tollgate itself refuses a request or fails, the response has a body like \`{ "error": "quota_exceeded", "msg": "Personal 1-hour read quota is used up. …" }\`. A program should read the status and \`error\`. A code never changes its meaning. \`msg\` is a sentence for people, and its words may change. If the operator has set [other bodies](../edge.md#bodies-of-your-own), the body may look different.

## The gateway

These codes appear on the listener that clients use, and in [the decisions API](decisions-api.md).
`

const ADMIN_TITLE = `## The admin API

These codes appear on the admin listener, where no request is charged.
`

const CHARGED: Readonly<Record<Charged, string>> = {
  no: 'The request is not charged.',
  yes: 'The request stays charged, because the service may have done the work.',
  perhaps: 'The request may be charged.',
  'given back':
    'The charge is given back if no byte was sent to the service ([`quota.refund`](configuration.md#quotarefund)).',
}

export function errorCodesPage(): string {
  const own = (Object.keys(STATUS_OF) as ErrorCode[]).map((code) => {
    const { means, charged = 'no', cure } = GATEWAY[code]
    return sectionOf(`${code}`, STATUS_OF[code], [means, CHARGED[charged]], cure)
  })
  const ofAdmin = (Object.keys(ADMIN_STATUS_OF) as AdminError[]).map((code) => {
    const { means, cure } = ADMIN[code]
    return `- \`${code}\` *(${ADMIN_STATUS_OF[code]})* ${means} ${cure}`
  })
  return `${HEAD}\n${own.join('\n')}\n${ADMIN_TITLE}\n${ofAdmin.join('\n')}\n`
}

function sectionOf(code: string, status: number, means: readonly string[], cure: string): string {
  return `### \`${code}\`\n\n*Status ${status}.* ${means.join(' ')}\n\n${cure}\n`
}
