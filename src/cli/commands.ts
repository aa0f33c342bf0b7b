/** Takes the command's own arguments and returns the exit code: 0 done, 1 not done, 2 called wrongly. */
type Run = (args: readonly string[]) => Promise<number>

interface Command {
  readonly name: string
  /** For the list of all commands. */
  readonly summary: string
  /** Only the called command is loaded, because a health check runs every few seconds within the memory of the gateway's container. */
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

Runs the gateway until it gets SIGTERM or SIGINT. It then lets requests finish for drain.timeout. A second signal ends it at once.
The gateway reads the file again when the file changes, and on SIGHUP. If the new file has problems, the old one stays in force.
If admin.token is set and standard error is a terminal, it prints a link that signs you in to the dashboard once, within 10 minutes.
Exit code: 0 after a clean stop, 1 if it could not start.`,
  },
  {
    name: 'try',
    summary: 'try a gateway in front of a service, without a file and without refusing anything',
    load: async () => (await import('./try.ts')).tryOut,
    help: `Usage: tollgate try URL [--listen HOST:PORT] [--admin HOST:PORT] [--key FIELD]

Puts a gateway in front of the service at URL, without a configuration. It refuses nothing, and the dashboard shows who asks for what.
Counters, requests and the admin token are kept in a temporary folder. SIGTERM or SIGINT ends the trial.
  --listen   where clients connect (default: 127.0.0.1:8080, or any free port)
  --admin    where the dashboard listens (default: 127.0.0.1:9090, or any free port)
  --key      the header that tells callers apart (default: Authorization). The gateway does not check it and forwards it. Each value
             counts as a user. Callers without the header are told apart by their address
At the end it offers to write a configuration made from the requests, as suggest does. Without a terminal it prints the command for that.
Exit code: 0 after a clean stop, 1 if it could not start, 2 if the options are wrong.`,
  },
  {
    name: 'check',
    summary: 'read the configuration and list every problem in it',
    load: async () => (await import('./check.ts')).check,
    help: `Usage: tollgate check [--connect] [-c FILE]

Reads the configuration as serve does, and prints each problem as FILE:LINE:COL path, with what is wrong and how to correct it. Checks
that compare several keys wait until each of these keys is right by itself.
If there are no problems, it prints who may call, what happens to paths without a rule, the limits with the line of the file that sets
each of them, whether the quota is in shadow, and the time zone of messages to clients. It does not know what administrators have
changed at run time. The line "configuration loaded" in the log shows the limits of a running gateway.
  --connect   also tries everything that a gateway needs, in a few seconds: the store (login, script of charges, writes, version,
              eviction, clock), the keys of issuers, introspection, admin.oidc, the upstream (TCP or TLS), both ports, and how many files
              may be open. It leaves nothing behind. Run it where the gateway will run, but before you start it, because its ports are
              in use afterwards
Exit code: 0 without problems (there may be warnings), 1 with problems.`,
  },
  {
    name: 'token',
    summary: 'create, list and revoke access keys',
    load: async () => (await import('./token.ts')).token,
    help: `Usage: tollgate token create --user USER --name NAME [--expires DURATION]
                             [--plan PLAN] [--organisation ORGANISATION] [-c FILE]
       tollgate token list [-c FILE]
       tollgate token revoke ID|KEY|--user USER [-c FILE]

An access key identifies its user, and its requests count against the quota of this user. The key is shown once, when you create it,
because the store keeps only its SHA-256. A revoked key is refused within 2 seconds by every gateway that uses the store.
  --user      the id of the user, 1 to 256 bytes. With revoke, all access keys of this user are revoked
  --name      what the key is for, 1 to 64 characters, such as laptop
  --expires   how long the key is good, for example 12h or 30d, at most 36500d (default: for ever)
  --plan      the plan of the user, one of quota.plans (default: none)
  --organisation  the organisation of the user, 1 to 256 bytes (default: none)`,
  },
  {
    name: 'explain',
    summary: 'say what the gateway would do with a request now, and why',
    load: async () => (await import('./explain.ts')).explainRequest,
    help: `Usage: tollgate explain --user USER [--method METHOD] --path PATH [--cost N | --value TEXT | --body JSON]
                        [--bytes N] [--plan PLAN] [--organisation ORGANISATION] [--json] [-c FILE]
       tollgate explain --user USER --at TIME [--json] [-c FILE]

Says which route matches a request, what the request costs, where each limit comes from, and whether the request would pass now. It
uses the configuration and its store, and charges nothing. A window that refuses is marked with "!".
  --user      the id of the user
  --at        a time instead of a path, for example 2026-11-20T10:00:00Z. Lists the limits that refused the user within half an hour
              of this time, or that would have refused the user in shadow
  --method    the method of the request (default: GET)
  --path      the path, as a client would send it
  --cost      the tokens, if the cost depends on the request
  --value     the value that decides the cost: 2 is the number, '"2"' is the text. For a list, the number of its elements
  --body      the JSON body, if the cost depends on it
  --bytes     the length of the body
  --plan      the plan that the credential names (default: none)
  --organisation  the organisation that the credential names (default: none)
  --json      print the response of GET /api/explain
Exit code: 0 if the result is known, whatever it is, and 1 if it is not.`,
  },
  {
    name: 'replay',
    summary: 'decide the requests of access logs again, with another configuration',
    load: async () => (await import('./replay.ts')).replayLogs,
    help: `Usage: tollgate replay --log FILE... [--format FORMAT] [--from TIME] [--to TIME]
                       [--top N] [--json | --csv] [-c FILE]

Decides the requests of access logs again, as a gateway with this configuration would, and prints who would have been refused, how
often, and when for the first time. It charges nothing and opens no store. All windows are empty at the beginning.
  --log       a file, which may be compressed with gzip, or - for the standard input. You can name several files, in any order
  --format    own (the log of a gateway), combined, nginx (the same as combined) or envoy (default: auto, by the first line of a file)
  --from, --to   only requests between these times, for example 2026-10-10T12:00:00Z
  --top       number of rows of users and routes (default: 20 as text, otherwise all)
  --json, --csv   everything as JSON, or the users as CSV
Lines that cannot be read are counted. The first ten are printed with file, line and reason.
Exit code: 0 if done, 1 if the configuration has problems or a file cannot be read, 2 if the options are wrong.`,
  },
  {
    name: 'suggest',
    summary: 'write a configuration that fits what users did, from access logs or the store',
    load: async () => (await import('./suggest.ts')).suggest,
    help: `Usage: tollgate suggest --log FILE... [--format FORMAT] [--from TIME] [--to TIME] [--upstream URL]
                        [--key FIELD] [--percentile N] [--headroom N] [--names N] [--out FILE]
       tollgate suggest --history [--from TIME] [--to TIME] [--percentile N] [--headroom N] [--out FILE] [-c FILE]

Prints a commented tollgate.yaml. It has a rule for each kind of path in the access logs, limits that fit what users did, and the number
of requests and users that each limit would have refused, as replay computes it. It reads no configuration and opens no store. With
--history it prints your configuration with other baselines, computed from what users of its store used in each run of a window. It
changes nothing.
  --log, --format, --from, --to   as for replay. The first 3000000 requests count
  --history      use the store. --from is then a time or a span, such as 30d (default: 7d)
  --upstream     the address of the service (default: a placeholder)
  --key          the header with the credentials, by which the log of a trial tells callers apart (default: comments to choose from)
  --percentile   how many of 100 users a limit should fit even in their busiest run, 0.01 to 100 (default: 99)
  --headroom     the factor by which limits are higher than what users used, 1 to 100 (default: 1.5)
  --names        if a place in the path has more different names than this, they become :name, 1 to 200 (default: 32)
  --out          write a new file instead of printing
Exit code: 0 if done, 1 if not, with the reason, 2 if the options are wrong.`,
  },
  {
    name: 'overrides',
    summary: 'write all overrides to a file, or put the overrides of a file in force',
    load: async () => (await import('./overrides.ts')).overrides,
    help: `Usage: tollgate overrides export [--format ndjson|csv] [-c FILE]
       tollgate overrides apply -f FILE [--format ndjson|csv] [--merge] [--dry-run] [--allow-empty]
                               [--max-removed N] [--reason TEXT] [-c FILE]

export prints the overrides of users and organisations, with a line for each: { "user": "bob", "read": { "1h": 50 }, "reason": "why" },
or as CSV with a head. apply replaces all overrides by those of the file, within 2 seconds on every gateway that uses the store.
  -f, --file   the file, at most 10 MiB. If a line has a problem, nothing is changed, and the problem is printed
  --format     csv or ndjson (default: csv for a file whose name ends so, otherwise ndjson)
  --merge      keep overrides that the file does not name, and add lines with an end above what is set
  --dry-run    change nothing, and print what would change. The exit code is 1 if the file would be refused
  --allow-empty    let a file without overrides remove all overrides
  --max-removed N  how many overrides may be removed (default: a tenth of all)
  --reason     the reason, for the audit
Exit code: 0 if done, even if nothing is new, 1 if not, with the reason, 2 if the options are wrong.`,
  },
  {
    name: 'plans',
    summary: 'list the limits of plans, or put the limits of a file in force',
    load: async () => (await import('./plans.ts')).plans,
    help: `Usage: tollgate plans list [--json] [-c FILE]
       tollgate plans apply -f FILE [--merge] [--dry-run] [--allow-empty] [--reason TEXT] [-c FILE]

Lists and sets limits of plans at run time, which go before those of the configuration. The file is YAML or JSON and has plans as in the
configuration, plans: { free: { personal: { read: { 1h: 60 } } } }. A file that ends in .ndjson has a line for each plan instead:
{ "plan": "free", "personal": … }. apply replaces all permanent limits that were set at run time, within 2 seconds on every gateway that
uses the store. Temporary limits stay above them.
  -f, --file   the file. If it has a problem, nothing is changed
  --json       print the permanent limits in the form that apply reads (default: a line for each limit, with the configuration's value
               if it differs)
  --merge      keep limits that were set and that the file does not name
  --dry-run    change nothing, and print what would change
  --allow-empty    let a file without limits remove all limits that were set, so that the configuration applies again
  --reason     the reason, for the audit
Exit code: 0 if done, even if nothing is new, 1 if not, with the reason, 2 if the options are wrong.`,
  },
  {
    name: 'grants',
    summary: 'list, give and end extra tokens of users and organisations',
    load: async () => (await import('./grants.ts')).grants,
    help: `Usage: tollgate grants list [--user USER | --organisation ORGANISATION] [--json] [-c FILE]
       tollgate grants give --user USER | --organisation ORGANISATION --category CATEGORY --tokens N
                           --until TIME --reason TEXT [--key TEXT] [-c FILE]
       tollgate grants end ID [--reason TEXT] [-c FILE]

A grant is a number of extra tokens that a user or an organisation gets once. It pays for requests of its category when a window has no
room. list prints a line for each grant, with the newest first: id, owner, category, tokens taken, end, reason. give prints the id of
the new grant. end ends a grant, and tokens that were taken stay taken. Changes take effect within 2 seconds on every gateway that uses
the store.
  --user, --organisation   the owner. With list, only grants of this owner are printed
  --category   the category of the requests for which the grant pays
  --tokens     the number of tokens, 1 to 1000000000000
  --until      the end, as a time with its offset such as 2030-01-31T00:00:00Z, or a span from now such as 7d, at most 400 days
  --reason     the reason, for the list and the audit
  --key        a text of your choice. If you run the command again with the same key, it gives nothing and prints the first grant's id
  --json       print the response of GET /api/grants, with all grants
Exit code: 0 if done, even if the grant had ended already, 1 if not, with the reason, 2 if the options are wrong.`,
  },
  {
    name: 'usage',
    summary: 'print what users and organisations have used',
    load: async () => (await import('./usage.ts')).usage,
    help: `Usage: tollgate usage export [--from TIME] [--to TIME] [--by KIND] [--user USER] [--organisation ORGANISATION]
                             [--category CATEGORY] [--route ROUTE] [--window WINDOW]
                             [--step STEP] [--order tokens [--limit N]] [--format csv|ndjson] [-c FILE]

Prints what was used, from the store of the configuration. No gateway need run.
  --from, --to    the time, as ISO 8601 such as 2026-11-01T00:00:00Z, or as a day in the zone usage.zone. The end --to is excluded.
                  --from may also be a span before --to, such as 6h or 7d (default: yesterday and today)
  --by            what a row stands for: user (default), organisation, plan, category, route or all
  --user, --organisation, --category   only these. --by user with --organisation prints the users of one organisation
  --route         only this rule, with --by route
  --window        the window whose runs are counted (default: the shortest one that is still stored for the whole time)
  --step          how the time is divided: range (default), run, 30m, 1h or 1d
  --order tokens  rows with the most tokens first, at most --limit of them (default: 100)
  --format        csv for spreadsheets (default), or ndjson for programs
Exit code: 0 if all was printed, 1 if not, with the reason, 2 if the options are wrong.`,
  },
  {
    name: 'user',
    summary: 'print everything that is stored about a user, or forget the user',
    load: async () => (await import('./user.ts')).user,
    help: `Usage: tollgate user export ID [-c FILE]
       tollgate user forget ID [--reason TEXT] [--words] [-c FILE]

export prints everything that the store keeps about a user, as JSON. forget removes everything that names the user: usage, refusals,
override, grants, access keys and alerts. In the audit another name replaces the user's, and the command prints this name. Nobody can
undo this.
  --reason   the reason, for the audit. It must not name the user
  --words    also if the store keeps nothing about the user except the id as a word in reasons. This word is replaced then
Running windows continue under a hash, so that a user who comes back gets no new tokens. Logs and the identity provider are not changed.
Exit code: 0 if done, 1 if not, with the reason, for example because nothing is stored about the user, 2 if the options are wrong.`,
  },
  {
    name: 'store',
    summary: 'copy a store into another one',
    load: async () => (await import('./store.ts')).store,
    help: `Usage: tollgate store copy --from URL --to URL [--force]

Copies everything that a store contains: running windows with their start and use, earlier usage of users and organisations, access
keys, changes at run time, the audit, refusals, and the histories of usage and failures. It does not read the configuration. If you move
from one store to another, stop the gateways of both stores first, because charges during the copy would be in only one of them. For a
backup, leave the gateway running and add --force.
  --from, --to                the stores, written as under "store" in a configuration. \${NAME} is read from the environment
  --from-prefix, --to-prefix  the first part of every key in Redis (default: tollgate)
  --force                     copy even while a gateway runs, from half a copy, and over what --to contains
A SQLite file is written completely or not at all. A Redis is marked as incomplete until the copy is done, so if the command ended early,
run it again.
Exit code: 0 if copied, 1 if not, with the reason, 2 if the options are wrong.`,
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
    summary: 'take a running gateway out of service, or bring it back',
    load: async () => (await import('./drain.ts')).drain,
    help: `Usage: tollgate drain [--end] [-c FILE]

Takes the gateway that runs on this machine or in this container out of service. Its /readyz responds with 503, and it closes each
connection after a response, so that clients come back through another replica. It still serves all requests that arrive. Use it in a
preStop hook, or to look at one replica without traffic.
  --end   bring the gateway back
The configuration says where the admin listener is. If this is not a loopback address, the command sends the admin token of the file.
Exit code: 0 if done, even if it was so before, 1 if not, with the reason.`,
  },
  {
    name: 'healthcheck',
    summary: 'ask a running gateway whether it works',
    load: async () => (await import('./healthcheck.ts')).healthcheck,
    help: `Usage: tollgate healthcheck [-c FILE]

Asks /livez of the admin listener, from the machine or the container on which the gateway runs. It reads only admin.listen and whether
the listener has TLS from the file, so mistakes elsewhere in the file do not matter. If you change these two, restart the gateway first,
because until then the command looks for it in the wrong place.
Exit code: 0 if it responds with 200 within 2 seconds, otherwise 1 with the reason.`,
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
