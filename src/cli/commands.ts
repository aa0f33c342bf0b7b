/** A command takes its own arguments and gives the exit code: 0 done, 1 not done, 2 wrongly called. */
type Run = (args: readonly string[]) => Promise<number>

interface Command {
  readonly name: string
  /** In the list of all commands. */
  readonly summary: string
  /** A health check runs every few seconds, in the memory that the gateway was given, so only what is called is loaded. */
  readonly load: () => Promise<Run>
  readonly help: string
}

/** In the order of the help. */
export const ALL: readonly Command[] = [
  {
    name: 'serve',
    summary: 'run the gateway',
    load: async () => (await import('./serve.ts')).serve,
    help: `Usage: tollgate serve [-c FILE]

Runs the gateway until SIGTERM or SIGINT, then lets requests finish (drain.timeout); a second signal ends it at once.
The file is read again when it changes and on SIGHUP; with problems in it the old configuration stays in force.
With admin.token, and a terminal as its standard error, it prints a link that signs in to the dashboard once, for 10 minutes.
Exit code: 0 after a clean stop, 1 when it could not start.`,
  },
  {
    name: 'try',
    summary: 'put a gateway in front of a service without a file, which refuses nothing',
    load: async () => (await import('./try.ts')).tryOut,
    help: `Usage: tollgate try URL [--listen HOST:PORT] [--admin HOST:PORT] [--key FIELD]

Puts a gateway in front of the service at URL, without a configuration. It refuses nothing, and shows on the dashboard who asks for
what. Quota, requests and the admin token are in a temporary folder. SIGTERM or SIGINT ends it.
  --listen   where clients connect (default: 127.0.0.1:8080, or any free port)
  --admin    the dashboard (default: 127.0.0.1:9090, or any free port)
  --key      the header field that callers are told apart by (default: Authorization). Nobody checks it, the service sees it, and each
             value is a user; who sends none is the user of an address
At its end it offers a configuration made from the requests, as suggest does. Without a terminal it prints the command for that.
Exit code: 0 after a clean stop, 1 when it could not start, 2 called wrongly.`,
  },
  {
    name: 'check',
    summary: 'read the configuration and tell every problem in it',
    load: async () => (await import('./check.ts')).check,
    help: `Usage: tollgate check [--connect] [-c FILE]

Reads the configuration as serve does and prints the problems as FILE:LINE:COL path: what is wrong, and the cure. Checks that compare
keys wait until each of them is right by itself.
Without problems it prints who may call, what becomes of paths without a rule, the limits of what is charged, each with the line of
the file that it comes from, whether the quota is in shadow, and the time zone of messages to clients. What administrators change at
run time comes on top: the line "configuration loaded" of the log has the limits of a gateway that runs.
  --connect   tries all that a gateway needs, too, in a few seconds: the store (login, script of charges, writes, version, eviction,
              clock), the keys of issuers, introspection, admin.oidc, the upstream (TCP or TLS), both ports, how many files may be open.
              Nothing that stays is written. Run it where the gateway is to run, before it does: its ports are taken afterwards
Exit code: 0 without problems (warnings are printed), 1 with problems.`,
  },
  {
    name: 'token',
    summary: 'create, list and revoke access keys',
    load: async () => (await import('./token.ts')).token,
    help: `Usage: tollgate token create --user USER --name NAME [--expires DURATION]
                             [--plan PLAN] [--organisation ORGANISATION] [-c FILE]
       tollgate token list [-c FILE]
       tollgate token revoke ID|KEY|--user USER [-c FILE]

An access key draws on the quota of its user. It is shown once, when it is made; only its SHA-256 is kept.
  --user      the user id: 1 to 256 bytes; behind revoke, the user whose access keys are all revoked
  --name      what it is for: 1 to 64 characters
  --expires   after which it is refused, for example 12h or 30d, at most 36500d (default: never)
  --plan      the plan of its user, one of quota.plans (default: none)
  --organisation  the organisation of its user: 1 to 256 bytes (default: none)
A revoked access key is refused within 2 seconds by every gateway on the same store.`,
  },
  {
    name: 'explain',
    summary: 'tell what would become of a request now, and why',
    load: async () => (await import('./explain.ts')).explainRequest,
    help: `Usage: tollgate explain --user USER [--method METHOD] --path PATH [--cost N | --value TEXT | --body JSON]
                        [--bytes N] [--plan PLAN] [--organisation ORGANISATION] [--json] [-c FILE]
       tollgate explain --user USER --at TIME [--json] [-c FILE]

Tells which route matches, what the request costs, where each limit comes from and whether it would be let through now, from
the configuration and its store. Nothing is charged. A window that refuses is marked with "!".
  --user      the user id
  --at        instead of a path: which limits refused the user within half an hour of then, or would have in shadow, for example 2026-11-20T10:00:00Z
  --method    default GET
  --path      as a client would send it
  --cost      tokens, where the cost depends on what is asked for
  --value     what the cost depends on: 2 is the number, '"2"' the text; of a list how many elements
  --body      the JSON body, where the cost depends on it
  --bytes     length of the body, which may be too large
  --plan      the plan that the credential names (default: none)
  --organisation  the organisation that the credential names (default: none)
  --json      the response of GET /api/explain
Exit code: 0, whatever the verdict; 1 where it cannot be given.`,
  },
  {
    name: 'replay',
    summary: 'decide the requests of access logs again, under another configuration',
    load: async () => (await import('./replay.ts')).replayLogs,
    help: `Usage: tollgate replay --log FILE... [--format FORMAT] [--from TIME] [--to TIME]
                       [--top N] [--json | --csv] [-c FILE]

Decides the requests of access logs again under the configuration, by the arithmetic of the gateway: who would have been refused, how
often and when first. Nothing is charged, and no store is opened. The counters begin empty.
  --log       a file, gzip too, or - for the standard input; several files may follow it, in any order
  --format    own (the log of a gateway), combined, nginx (the same) or envoy; default auto, by the first line of each file
  --from, --to   only requests that came between, for example 2026-10-10T12:00:00Z
  --top       rows of users and routes (default: 20 as text, else all)
  --json, --csv   all of it as JSON, or the users as CSV
Lines that cannot be read are counted, and the first ten are printed with file, line and reason.
Exit code: 0 done, 1 with problems in the configuration or a file that cannot be read, 2 wrongly called.`,
  },
  {
    name: 'suggest',
    summary: 'write a configuration that fits what users did, from access logs or the store',
    load: async () => (await import('./suggest.ts')).suggest,
    help: `Usage: tollgate suggest --log FILE... [--format FORMAT] [--from TIME] [--to TIME] [--upstream URL]
                        [--key FIELD] [--percentile N] [--headroom N] [--names N] [--out FILE]
       tollgate suggest --history [--from TIME] [--to TIME] [--percentile N] [--headroom N] [--out FILE] [-c FILE]

Prints a commented tollgate.yaml: a route map of the paths of access logs, limits from what users did, and how many requests and users
each limit would have refused, as replay decides. No configuration is read, and no store is opened. With --history it prints the
configuration with other baselines, from what users of its store used in each run of a window. Nothing is changed.
  --log, --format, --from, --to   as for replay; the first 3000000 requests count
  --history      --from is a time or a span, such as 30d (default: 7d)
  --upstream     address of the service (default: a placeholder)
  --key          the header field with the credentials that the log of a trial tells callers apart by (default: comments to choose from)
  --percentile   of users whose busiest run a limit covers, 0.01 to 100 (default: 99)
  --headroom     factor on what they used, 1 to 100 (default: 1.5)
  --names        where more names than this stand in one place of a path, they become :name, 1 to 200 (default: 32)
  --out          writes a new file instead
Exit code: 0 done; 1 not done, with the reason; 2 wrongly called.`,
  },
  {
    name: 'overrides',
    summary: 'write all overrides to a file, or put those of a file in force',
    load: async () => (await import('./overrides.ts')).overrides,
    help: `Usage: tollgate overrides export [--format ndjson|csv] [-c FILE]
       tollgate overrides apply -f FILE [--format ndjson|csv] [--merge] [--dry-run] [--allow-empty]
                               [--max-removed N] [--reason TEXT] [-c FILE]

Overrides of users and organisations as a file, a line for each: { "user": "bob", "read": { "1h": 50 }, "plan": "pro", "reason": "why" }, or CSV
with a head. apply puts those of the file in force together, these and no others, within 2 seconds on every gateway of the store.
  -f, --file   the file, at most 10 MiB; any problem, with its line, leaves everything as it is
  --format     default csv for a file that is called so, else ndjson
  --merge      overrides that the file does not name stay, and lines with an end are added above what is set
  --dry-run    changes nothing, and prints what would change, and with exit code 1 what it would be refused for
  --allow-empty    lets a file that sets nothing remove all overrides
  --max-removed N  how many overrides may be removed. Default a tenth of all
  --reason     why, for the audit
Exit code: 0 done, also if nothing is new; 1 not done, with the reason; 2 called wrongly.`,
  },
  {
    name: 'plans',
    summary: 'list the limits of plans, or put those of a file in force',
    load: async () => (await import('./plans.ts')).plans,
    help: `Usage: tollgate plans list [--json] [-c FILE]
       tollgate plans apply -f FILE [--merge] [--dry-run] [--allow-empty] [--reason TEXT] [-c FILE]

Limits of plans that are set at run time, over those of the configuration. The file is YAML or JSON with plans as the configuration has
them, plans: { free: { personal: { read: { 1h: 60 } } } }, or a line of JSON for each in a file called .ndjson: { "plan": "free", "personal": … }.
apply sets these for good and no others, within 2 seconds on every gateway of the store. What was set for a while stays above them.
  -f, --file   the file; any problem leaves everything as it is
  --json       what is set for good, as apply takes it. Default a line for each limit, with what the configuration says where it differs
  --merge      limits that were set and that the file does not name stay
  --dry-run    changes nothing, and prints what would change
  --allow-empty    lets a file that sets nothing give all plans back to the configuration
  --reason     why, for the audit
Exit code: 0 done, also if nothing is new; 1 not done, with the reason; 2 called wrongly.`,
  },
  {
    name: 'grants',
    summary: 'list, give and end extra tokens of a user or an organisation',
    load: async () => (await import('./grants.ts')).grants,
    help: `Usage: tollgate grants list [--user USER | --organisation ORGANISATION] [--json] [-c FILE]
       tollgate grants give --user USER | --organisation ORGANISATION --category CATEGORY --tokens N
                           --until TIME --reason TEXT [--key TEXT] [-c FILE]
       tollgate grants end ID [--reason TEXT] [-c FILE]

A grant is a number of extra tokens that a user, or an organisation together, gets once. It pays for requests of its category where a
window has no room. list prints a line for each grant, the newest first: id, owner, category, what was taken, until when it is good, reason.
give prints the id of the new grant, and end ends one: what was taken stays taken. Both hold within 2 seconds on every gateway of the store.
  --user, --organisation   whose; behind list only theirs
  --category   the category whose requests the grant pays for
  --tokens     how many, 1 to 1000000000000
  --until      a time with its offset, such as 2030-01-31T00:00:00Z, or a span from now such as 7d; at most 400 days from now
  --reason     why, for the list and the audit
  --key        a text of yours: a command that comes again with it gives nothing more, and prints the id of the grant that it has given
  --json       the response of GET /api/grants, with all grants
Exit code: 0 done, also if the grant had ended already; 1 not done, with the reason; 2 called wrongly.`,
  },
  {
    name: 'usage',
    summary: 'print what was used',
    load: async () => (await import('./usage.ts')).usage,
    help: `Usage: tollgate usage export [--from TIME] [--to TIME] [--by KIND] [--user USER] [--organisation ORGANISATION]
                             [--category CATEGORY] [--route ROUTE] [--window WINDOW]
                             [--step STEP] [--order tokens [--limit N]] [--format csv|ndjson] [-c FILE]

Prints what was used, from the store of the configuration alone: no gateway need run.
  --from, --to    ISO 8601 such as 2026-11-01T00:00:00Z, or a day of usage.zone (default: today and the day before); --to is not
                  in the range;
                  --from also a span before --to, such as 6h or 7d
  --by            user (default), organisation, plan, category, route or all
  --user, --organisation, --category   only these; --by user with --organisation has the users of one
  --route         with --by route: only this rule
  --window        whose runs are counted (default: the shortest one of which the whole range is kept)
  --step          range (default), run, 30m, 1h or 1d
  --order tokens  the most first: --limit of them (default: 100)
  --format        csv for spreadsheets (default), ndjson for programs
Exit code: 0 all printed, 1 not all, with the reason; 2 called wrongly.`,
  },
  {
    name: 'user',
    summary: 'print all that is kept of a user, or forget the user',
    load: async () => (await import('./user.ts')).user,
    help: `Usage: tollgate user export ID [-c FILE]
       tollgate user forget ID [--reason TEXT] [--words] [-c FILE]

export prints all that the store keeps of a user as JSON. forget takes away whatever names the user: usage, refusals, override, grants,
access keys, alerts, and the name in the audit, which has another one in its place. That is printed. Nobody can put it back.
  --reason   why, for the audit, without a name
  --words    also if nothing is kept of the user but the id as a word of reasons, which gets another name then
Windows that run go on under a hash, so that a user who comes back has no new tokens. Logs are not touched, nor is the identity provider.
Exit code: 0 done; 1 not done, with the reason, for example because nothing is kept of the user; 2 called wrongly.`,
  },
  {
    name: 'store',
    summary: 'copy a store into another one',
    load: async () => (await import('./store.ts')).store,
    help: `Usage: tollgate store copy --from URL --to URL [--force]

Copies all that a store holds: running windows with start and use, what users and organisations used before, access keys, what was
changed at run time, the audit, refusals, and the histories of usage and failures. The configuration is not read. Stop the gateways of
both stores before you move from one to the other: what a gateway charges during the copy is in one of them only. For a backup leave
the gateway running and add --force.
  --from, --to                where, as under "store" in a configuration; \${NAME} is read from the environment
  --from-prefix, --to-prefix  first part of every key in Redis (default: tollgate)
  --force                     copies also while a gateway runs, from half a copy, and in the place of what --to holds
A file is filled whole or not at all. A Redis that is filled has a mark until it is whole: run the command again where it ended early.
Exit code: 0 copied; 1 not copied, with the reason; 2 called wrongly.`,
  },
  {
    name: 'schema',
    summary: 'print the JSON Schema of the configuration',
    load: async () => (await import('./schema.ts')).schema,
    help: `Usage: tollgate schema

Prints the JSON Schema (draft 2020-12) of the configuration, for editors.`,
  },
  {
    name: 'drain',
    summary: 'take a gateway that runs out of service, or back',
    load: async () => (await import('./drain.ts')).drain,
    help: `Usage: tollgate drain [--end] [-c FILE]

Takes the gateway that runs on this machine or in this container out of service: its /readyz is 503, and each response closes its
connection, so that clients come back through another replica. It goes on serving. For a preStop hook, or to look at one replica.
  --end   brings it back
The file says where the admin listener is; one on another address than a loopback one is shown the admin token of the file.
Exit code: 0 done, also if it was so before; 1 not done, with the reason.`,
  },
  {
    name: 'healthcheck',
    summary: 'ask a gateway that runs whether it lives',
    load: async () => (await import('./healthcheck.ts')).healthcheck,
    help: `Usage: tollgate healthcheck [-c FILE]

Asks /livez of the admin listener of the configuration, from the machine or the container where the gateway runs. A file that
became wrong elsewhere does not matter, as it does not to the gateway: only admin.listen and whether it has TLS are read of it. A
change of these waits for a restart of the gateway, and until then it is not found.
Exit code: 0 with 200 within 2 seconds, else 1 with the reason.`,
  },
]

export const COMMANDS: ReadonlyMap<string, Command> = new Map(ALL.map((command) => [command.name, command]))

const WIDTH = Math.max(...ALL.map(({ name }) => name.length))

export const HELP = `Usage: tollgate COMMAND [options]

${ALL.map(({ name, summary }) => `  ${name.padEnd(WIDTH)}  ${summary}`).join('\n')}

Options of every command:
  -c, --config FILE   the configuration (default: $TOLLGATE_CONFIG, or tollgate.yaml); store reads none
  -h, --help          help of the command
      --version       version of Tollgate`

export function helpOf(command: string): string {
  return COMMANDS.get(command)?.help ?? HELP
}
