/** `deskmirror token`: mints a widget token. */
import { Command, InvalidArgumentError } from 'commander'
import { stringifyJson } from '../core/json.ts'
import { rfc3339, type Seconds } from '../core/time.ts'
import { type CommandResult, runAndPrint, selectOneProject } from './command-result.ts'
import { jsonOption, oneProjectOption, parseWholeNumber } from './options.ts'
import type { CommandContext } from './command-context.ts'

type Options = {
  readonly email?: string
  readonly name?: string
  readonly company?: string
  readonly metadata?: readonly (readonly [string, string])[]
  readonly ttl: Seconds
  readonly project?: string
  readonly json?: true
}

const examples = `
For the server that renders a page with the widget: the key stays there, the browser gets the token. Standard output is
the token, on a line by itself; it is written nowhere else. It expires by itself after --ttl seconds. Mint a fresh one when
the visitor does something significant, or when the session runs beyond ten minutes.

It is asked for at DESKMIRROR_WIDGET_URL; without that, where the API is (the base URL without its version).

Examples:
  $ deskmirror token --email ada@example.com --name "Ada Lovelace" --company "Analytical Engines"
  $ deskmirror token --email ada@example.com --metadata plan=pro --metadata cart=3 --ttl 300 --json

Exit code: 0 minted · 1 trying again may help, or an answer came without a token · 2 a person must change something`

export function tokenCommand(context: CommandContext): Command {
  return new Command('token')
    .summary('mint a short-lived token for the widget in a browser')
    .description('Mints a short-lived token for the widget in a browser.')
    .option('--email <email>', "the visitor's email address")
    .option('--name <name>', "the visitor's name")
    .option('--company <company>', "the visitor's company")
    .option('--metadata <key=value>', 'something about the session; may be repeated', parsePair)
    .option('--ttl <seconds>', 'how long the token lives', parseLifetime, 600)
    .addOption(oneProjectOption())
    .addOption(jsonOption())
    .addHelpText('after', examples)
    .action((options: Options) => runAndPrint(context, options.json === true, () => runToken(context, options)))
}

async function runToken(context: CommandContext, options: Options): Promise<CommandResult> {
  const config = context.loadConfig('service')
  const project = selectOneProject(config.projects, options.project, 'no token was minted')
  const display = context.openDisplay(true)
  const log = context.openLog(config, display)
  const signal = context.openInterruptSignal(display, 'the request in hand')
  const { email, name, company, metadata, ttl } = options
  const visitor = {
    ...(email === undefined ? {} : { email }),
    ...(name === undefined ? {} : { name }),
    ...(company === undefined ? {} : { company }),
  }
  const { mintWidgetToken } = await context.loadUseCases()
  const session = { visitor, metadata: Object.fromEntries(metadata ?? []), ttl }
  const minted = await mintWidgetToken(config, project, session, { signal, log })
  const expiresAt = minted.expiresAt === null ? null : rfc3339(minted.expiresAt)
  // Integers beyond 2^53 are none of a token's.
  const answer: unknown = JSON.parse(stringifyJson(minted.answer))
  return {
    document: { project: project.name, token: minted.token, expiresAt, answer },
    lines: [minted.token],
    exit: 0,
  }
}

/** `k=` is an empty text; what comes after the first `=` is the value. */
function parsePair(text: string, before: Options['metadata'] = []): Options['metadata'] {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Write key=value.')
  return [...before, [text.slice(0, at), text.slice(at + 1)]]
}

function parseLifetime(text: string): Seconds {
  const seconds = parseWholeNumber(text)
  if (seconds === 0) throw new InvalidArgumentError('Write a number of seconds, from 1.')
  return seconds
}
