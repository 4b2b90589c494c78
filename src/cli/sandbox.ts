/** `deskmirror sandbox`: runs the mock server of the service as a process. */
import { Command, Option } from 'commander'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Range, Size } from '../sandbox/seed-context.ts'
import { describeSwitch, parseSwitches, type Switches, switchNames } from '../sandbox/switches.ts'
import { trimBoth } from '../values/format.ts'
import { rfc3339 } from '../values/time.ts'
import { errorCode, errorText, UserError } from '../values/user-error.ts'
import { parseWholeNumber } from './options.ts'

type SandboxFlags = Partial<Pick<Size, 'conversations' | 'visitors' | 'calls' | 'days'>> & {
  readonly port: number
  readonly prefix: string
  readonly seed: number
  readonly now?: string
  readonly open?: number
  readonly messages?: number | Range
  readonly activity?: number | Range
  readonly switch: readonly string[]
  readonly rate?: string
  readonly key?: string
  readonly json?: boolean
}

export function command(): Command {
  return new Command('sandbox')
    .description(
      'Runs a full, stateful server of the API on loopback, with seeded data, until it is stopped.',
    )
    .option('--port <port>', 'port to listen on; 0 = any free one', parseWholeNumber, 0)
    .option('--prefix <path>', 'path before every path of the API, for example /v1', '')
    .option('--seed <n>', 'the same seed makes the same data', parseWholeNumber, 1)
    .option('--now <time>', "where the service's clock starts, RFC 3339; by default now")
    .option('--conversations <n>', 'how many', parseWholeNumber)
    .option('--open <n>', 'only the newest this many conversations can be open', parseWholeNumber)
    .option('--visitors <n>', 'how many', parseWholeNumber)
    .option('--calls <n>', 'how many', parseWholeNumber)
    .option('--messages <n|low-high>', 'messages in a conversation', parseRange)
    .option('--activity <n|low-high>', 'activity entries of a visitor', parseRange)
    .option('--days <n>', 'how far back the data goes', parseWholeNumber)
    .option(
      '--switch <name=value...>',
      'what the service does where its documentation leaves it open; see below',
      [],
    )
    .addOption(
      new Option(
        '--rate <requests/seconds>',
        'requests a key, for example 600/60s; off = no limit',
      ),
    )
    .option('--key <key>', 'the API key that it accepts')
    .option('--json', 'print its variables as one JSON document')
    .addHelpText('after', helpText)
    .action(async (flags: SandboxFlags) => runSandbox(flags))
}

async function runSandbox(flags: SandboxFlags): Promise<void> {
  // Before anything is printed: whoever reads the lines below may send a signal at once.
  const stopping = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
  const sandbox = await startFromFlags(flags)
  const environment = {
    DESKMIRROR_BASE_URL: sandbox.baseUrl,
    DESKMIRROR_PROJECT_ID: sandbox.projectId,
    DESKMIRROR_API_KEY: sandbox.key,
    ...rateVariables(sandbox.switches()),
  }
  const lines = Object.entries(environment).map(([name, value]) => `export ${name}=${value}`)
  process.stdout.write(flags.json ? `${JSON.stringify(environment)}\n` : `${lines.join('\n')}\n`)
  process.stderr.write(
    `the sandbox serves ${sandbox.baseUrl}; its documentation is at ` +
      `${sandbox.baseUrl}/public/docs\n`,
  )
  await Promise.race([stopping, sandbox.stopped])
  await sandbox.stop()
}

async function startFromFlags(flags: SandboxFlags): Promise<Sandbox> {
  const { port, seed, key, conversations, open: openConversations, visitors, calls, days } = flags
  const { messages: messagesPerConversation, activity: activityPerVisitor } = flags
  const rows = {
    conversations,
    openConversations,
    visitors,
    calls,
    messagesPerConversation,
    activityPerVisitor,
  }
  const size = { ...rows, days }
  const prefix = trimBoth(flags.prefix, '/')
  const { startSandbox } = await import('../sandbox/sandbox.ts')
  try {
    return await startSandbox({
      port,
      seed,
      prefix: prefix === '' ? '' : `/${prefix}`,
      size: Object.fromEntries(Object.entries(size).filter(([, value]) => value !== undefined)),
      switches: parseSwitches({ ...toRateSwitches(flags.rate), ...splitPairs(flags.switch) }),
      now: flags.now ?? rfc3339(Math.floor(Date.now() / 1000)),
      ...(key === undefined ? {} : { keys: [{ key }] }),
    })
  } catch (error) {
    const taken = errorCode(error) === 'EADDRINUSE'
    if (!taken && !(error instanceof RangeError)) throw error
    const why = taken ? `port ${port} is in use` : errorText(error)
    const next = taken
      ? 'choose another port, or 0 for any free one'
      : 'see deskmirror sandbox --help'
    throw new UserError({ what: 'cannot start the sandbox', why, next }, { cause: error })
  }
}

/** A rate that is never reached: the variables cannot express "no limit". */
const unlimited = 1_000_000_000

function rateVariables(s: Switches) {
  const [requests, writes, window] =
    s['rate.kind'] === 'off'
      ? [unlimited, unlimited, 60]
      : [s['rate.limit'], s['rate.writes'], s['rate.window']]
  const windowText = `${Math.max(1, Math.ceil(window * 1000))}ms`.replace(/000ms$/, 's')
  const rate = (count: number) => `${Math.max(1, Math.floor(count))}/${windowText}`
  return {
    DESKMIRROR_RATE: rate(requests),
    DESKMIRROR_WRITE_RATE: rate(Math.min(requests, writes)),
  }
}

function splitPairs(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((pair) => {
      const [name = '', ...value] = pair.split('=')
      return [name, value.join('=')]
    }),
  )
}

function toRateSwitches(rate: string | undefined): Record<string, string> {
  if (rate === undefined) return {}
  if (rate === 'off') return { 'rate.kind': 'off' }
  const [, limit, seconds] = /^(\d+)(?:\/(\d+)s)?$/.exec(rate) ?? []
  if (limit === undefined)
    throw new RangeError(`--rate cannot be ${rate}; it can be off, 600 or 600/60s`)
  return { 'rate.limit': limit, ...(seconds === undefined ? {} : { 'rate.window': seconds }) }
}

function parseRange(text: string): number | Range {
  const [low = '', high] = text.split('-')
  return high === undefined
    ? parseWholeNumber(low)
    : [parseWholeNumber(low), parseWholeNumber(high)]
}

function helpText(): string {
  const width = Math.max(...switchNames.map((name) => name.length))
  const lines = switchNames.map((name) => `  ${name.padEnd(width)}  ${describeSwitch(name)}`)
  return `
Examples:
  $ deskmirror sandbox --port 4010
  $ deskmirror sandbox --conversations 10000 --messages 100 --rate off
  $ deskmirror sandbox --switch messages.paging=before --switch fault.rate=0.1

A sync against it, from the same shell:
  rm -f sandbox.env; deskmirror sandbox --port 4010 > sandbox.env &
  while kill -0 $! && [ ! -s sandbox.env ]; do sleep 0.1; done
  ( . ./sandbox.env && export DESKMIRROR_DATABASE_URL=sqlite:sandbox.db && deskmirror sync )

While it runs, /_sandbox/ answers GET log, counts, ledger, switches, truth/{stream}, and takes POST switches, churn,
mutate, fail, forget-faults, keys, revoke, advance, reset-log, shutdown, each with a JSON object.

Switches (the first value is the default):
${lines.join('\n')}
`
}
