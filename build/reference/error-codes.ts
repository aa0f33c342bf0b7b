import { STATUS_OF as ADMIN_STATUS_OF, type AdminError } from '../../src/admin/http.ts'
import { type ErrorCode, STATUS_OF } from '../../src/errors.ts'

/** The page of every `error` code: the tables of src/errors.ts and src/admin/http.ts, with what each means and what to do. */

interface Told {
  readonly means: string
  /** Whether the request was charged. */
  readonly charged: 'no' | 'yes' | 'perhaps' | 'given back'
  readonly cure: string
}

const GATEWAY: Readonly<Record<ErrorCode, Told>> = {
  bad_request: {
    means: 'The request is not well formed, or its cost cannot be read from its body, query or headers.',
    charged: 'no',
    cure: 'Change the request as `msg` says. Sending the same request again does not help.',
  },
  unauthorized: {
    means: 'The credential is missing, has expired or is not accepted.',
    charged: 'no',
    cure: 'Get a new credential. If nobody gets in, the operator reads `reason` in [the log](../log.md); see [troubleshooting](../troubleshooting.md#everything-is-401).',
  },
  no_route: {
    means: 'No rule of the route map matches the path.',
    charged: 'no',
    cure: 'Check the path. The operator adds a rule below [`routes`](configuration.md#routes), or sets [`unmatched`](configuration.md#unmatched).',
  },
  method_not_allowed: {
    means: 'A rule matches the path, but with another method.',
    charged: 'no',
    cure: 'Use a method that the field `Allow` of the response names.',
  },
  request_timeout: {
    means: 'The head or the body of the request came too slowly.',
    charged: 'no',
    cure: 'Send the request again over a better line. The bounds are `edge.headers_timeout`, `edge.min_upload_rate` and `edge.upload_grace`.',
  },
  payload_too_large: {
    means: 'The body is longer than `edge.max_body`, or longer than a body of which the cost is read.',
    charged: 'no',
    cure: 'Send less at once, or ask the operator for a higher [`edge.max_body`](configuration.md#edgemax_body).',
  },
  uri_too_long: {
    means: 'Path and query together are longer than `edge.max_url`, by default 8 KiB.',
    charged: 'no',
    cure: 'Move parameters from the query into a body.',
  },
  expectation_failed: {
    means: 'The field `Expect` of the request has another value than `100-continue`.',
    charged: 'no',
    cure: 'Leave the field `Expect` out.',
  },
  idempotency_key_reused: {
    means:
      'An earlier request with the same idempotency key had another body, `Content-Type`, `Content-Encoding` or priced header.',
    charged: 'no',
    cure: 'To repeat the earlier request, send it exactly as before: with a new key the service may carry it out twice. Take a new key only for a new request.',
  },
  quota_exceeded: {
    means: 'A limit of the user, of the organisation or of all users together has no room for the request.',
    charged: 'no',
    cure: 'Wait for `Retry-After` seconds; [clients](../clients.md#waiting) shows how. If the response has `X-Tollgate-Quota-State: never`, no waiting helps. The operator raises a limit as the [cookbook](../cookbook.md) shows.',
  },
  too_many_in_flight: {
    means:
      'The user, the address or the connection has too many requests under way, or sent too many wrong credentials.',
    charged: 'no',
    cure: 'Wait for `Retry-After` seconds and send fewer requests at once; see [what one client can take](../bounds.md).',
  },
  headers_too_large: {
    means:
      'The head of the request is longer than `edge.max_header_size`, by default 16 KiB, or has more than 200 fields.',
    charged: 'no',
    cure: 'Send fewer cookies and shorter fields.',
  },
  internal: {
    means: 'Tollgate has a fault.',
    charged: 'perhaps',
    cure: 'Report the fault with the `X-Request-Id` of the response. The log has a line with that `requestId`.',
  },
  not_implemented: {
    means: 'The request uses a part of HTTP that Tollgate does not support, such as `CONNECT` or `TRACE`.',
    charged: 'no',
    cure: 'Use another method or coding, as `msg` says.',
  },
  upstream_unreachable: {
    means: 'No connection to your service could be made.',
    charged: 'given back',
    cure: 'Try again after a growing pause. The operator looks whether the service runs at `upstream.url`, and at the [runbook](../runbook.md).',
  },
  bad_upstream_answer: {
    means: 'The service gave no whole response, or one that is not valid HTTP.',
    charged: 'yes',
    cure: 'Repeat the request only if that is safe. The operator reads `reason` in the log, and the page on [the upstream](../upstream.md).',
  },
  store_unavailable: {
    means: 'The store does not respond, and `quota.store_outage` lets no request of the category pass without it.',
    charged: 'no',
    cure: 'Try again after `Retry-After` seconds and a growing pause. For the operator there is a page on [outages of the store](../outage.md).',
  },
  overloaded: {
    means: 'All places of a kind are taken, or the process is late with its work.',
    charged: 'no',
    cure: 'Try again after `Retry-After` seconds and a growing pause. The operator finds the bound in the log and in [bounds](../bounds.md).',
  },
  upstream_timeout: {
    means: 'The head of the response did not come within `upstream.response_timeout`, by default 30 seconds.',
    charged: 'yes',
    cure: 'Repeat the request only if that is safe. The operator raises [`routes[].response_timeout`](configuration.md#routesresponse_timeout) of a slow rule.',
  },
  version_not_supported: {
    means: 'The request is of another version of HTTP than 1.1 and 1.0.',
    charged: 'no',
    cure: 'Speak HTTP/1.1 to Tollgate. A proxy in front can take HTTP/2 from clients.',
  },
}

const ADMIN: Readonly<Record<AdminError, Omit<Told, 'charged'>>> = {
  bad_request: {
    means: 'A parameter or a field of the body has a value that is not allowed.',
    cure: 'Change each place that `problems` names, as its `msg` says.',
  },
  unauthorized: {
    means: 'The admin token or the session is missing, wrong or over.',
    cure: 'Send `Authorization: Bearer TOKEN` with a token of the configuration, or sign in again.',
  },
  sign_in_failed: {
    means: 'The provider did not confirm the sign-in.',
    cure: 'Begin the sign-in again. The log has the reason.',
  },
  no_admin_token: {
    means: 'The configuration has no admin token, so nobody may use the API.',
    cure: 'Set [`admin.token`](configuration.md#admintoken) and restart the gateway.',
  },
  host_not_allowed: {
    means: 'The field `Host` of the request names a host that is not one of this listener.',
    cure: 'Add the name to [`admin.hosts`](configuration.md#adminhosts), or use an address.',
  },
  not_from_browsers: {
    means: 'A page in a browser sent a request that is only for scripts and probes.',
    cure: 'Send the request by a script, such as `curl`.',
  },
  not_from_our_page: {
    means: 'A page of another origin sent a request with the session of the dashboard.',
    cure: 'Open the dashboard under the name by which you signed in. Behind a proxy, let the proxy pass `Host` on.',
  },
  forbidden: {
    means:
      'The role of the token or the session does not allow this: a `viewer` changes nothing, and a lead sees and changes only what belongs to the own organisation.',
    cure: 'Use a token of the role `admin`, or see [all operations and their roles](admin-api.md#all-operations-and-their-roles).',
  },
  no_role: {
    means: 'The person is signed in, but is in no group that gives a role.',
    cure: 'Add a group of the person to [`admin.oidc.roles`](configuration.md#adminoidcroles).',
  },
  not_found: {
    means: 'There is nothing of this name.',
    cure: 'Read the list, and check how the name is encoded in the path.',
  },
  method_not_allowed: {
    means: 'The path exists, but not with this method.',
    cure: 'Use a method that the field `Allow` of the response names.',
  },
  request_timeout: { means: 'The request came too slowly.', cure: 'Send the request again.' },
  conflict: {
    means: 'Somebody changed or ended the same thing at the same moment.',
    cure: 'Read the thing again, then decide whether your change is still wanted.',
  },
  version_conflict: {
    means: 'The version in `If-Match` is not the present one.',
    cure: 'Read the present state and its `ETag`, and send the change again with that.',
  },
  changed_since: {
    means: 'A later change replaced the one that was to be undone.',
    cure: 'Look at `changed` in the response, and change the values by hand.',
  },
  payload_too_large: {
    means: 'The body is longer than 64 KiB, or than 4 KiB for a sign-in and 10 MiB for a file of lines.',
    cure: 'Send the lines in several requests.',
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
    means: 'Another request was sent with the same `Idempotency-Key`, and has made something else.',
    cure: 'To repeat the earlier request, send it exactly as before: with a new key you may make the same twice. Take a new key only for a new request.',
  },
  too_many_attempts: {
    means: 'An address sent ten wrong tokens or codes within a minute.',
    cure: 'Wait a minute. The right token is accepted at any time.',
  },
  headers_too_large: { means: 'The head of the request is too long.', cure: 'Send fewer cookies and shorter fields.' },
  internal: { means: 'Tollgate has a fault.', cure: 'Report the fault with the line of the log.' },
  store_unavailable: {
    means: 'The store does not respond.',
    cure: 'Try again later. The paths with `in-force` respond without the store.',
  },
  outcome_unknown: {
    means: 'The store broke off in the middle of a change, so the change may have been made.',
    cure: 'Repeat the change with `If-Match`, or read the state first.',
  },
  provider_unavailable: {
    means: 'The provider of `admin.oidc` does not respond.',
    cure: 'Try again later, or sign in with an admin token.',
  },
  overloaded: { means: 'Too many connections are open.', cure: 'Try again after `Retry-After` seconds.' },
}

const HEAD = `# Error codes

A response of Tollgate itself has a body like \`{ "error": "quota_exceeded", "msg": "Personal 1-hour read quota is used up. …" }\`. A program should look at the status and at \`error\`; \`msg\` is a sentence for people and may change. A code never gets another meaning. If your operator has set [bodies of their own](../edge.md#bodies-of-your-own), the body may look different.

## The gateway

These codes come from the port that clients use, and from [the decisions API](decisions-api.md).
`

const ADMIN_TITLE = `## The admin API

These codes come from the admin listener. Nothing there is charged.
`

const CHARGED: Readonly<Record<Told['charged'], string>> = {
  no: 'The request is not charged.',
  yes: 'The request stays charged, because the service may have done its work.',
  perhaps: 'The request may be charged.',
  'given back':
    'The charge is given back if no byte was sent to the service ([`quota.refund`](configuration.md#quotarefund)).',
}

export function errorCodesPage(): string {
  const own = (Object.keys(STATUS_OF) as ErrorCode[]).map((code) => {
    const { means, charged, cure } = GATEWAY[code]
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
