/** `deskmirror token`: mints a widget token. */
import { Option } from 'commander'
import { stringifyJson } from '../values/json.ts'
import { rfc3339, type Seconds } from '../values/time.ts'
import { defineCommand, selectCall } from './command.ts'
import {
  type CommonOptions,
  jsonOption,
  oneProjectOption,
  parsedBy,
  parseWholeNumber,
} from './options.ts'

type Options = CommonOptions & {
  readonly email?: string
  readonly name?: string
  readonly company?: string
  readonly metadata?: readonly (readonly [string, string])[]
  readonly ttl: Seconds
}

const help = `
For the server that renders a page with the widget: the key stays there, and the browser gets the token. Standard output
is the token on a line by itself; it is stored nowhere. It expires after --ttl seconds. Mint a new one when the visitor
does something significant, or when the session takes longer than ten minutes.

The token is requested at DESKMIRROR_WIDGET_URL, or else at the API's address (the base URL without its version).

Examples:
  $ deskmirror token --email ada@example.com --name "Ada Lovelace" --company "Analytical Engines"
  $ deskmirror token --email ada@example.com --metadata plan=pro --metadata cart=3 --ttl 300 --json

Exit code: 0 minted · 1 trying again may help, or a response came without a token · 2 a person must change something`

export const command = defineCommand<Options>({
  name: 'token',
  description: 'Mints a short-lived token for the widget in a browser.',
  options: [
    new Option('--email <email>', "the visitor's email address"),
    new Option('--name <name>', "the visitor's name"),
    new Option('--company <company>', "the visitor's company"),
    new Option('--metadata <key=value>', 'a value of the session; may be repeated').argParser(
      parsedBy('Write key=value.', parsePair),
    ),
    new Option('--ttl <seconds>', 'lifetime of the token')
      .argParser(
        parsedBy(
          'Write a number of seconds, from 1.',
          (text) => parseWholeNumber(text) || undefined,
        ),
      )
      .default(600),
    oneProjectOption(),
    jsonOption(),
  ],
  help,
  run: async (context, options) => {
    const { email, name, company, metadata = [], ttl } = options
    const { config, project } = selectCall(
      context.loadConfig('service'),
      options.project,
      'no token was minted',
    )
    const display = context.openDisplay(true)
    const log = await context.openLog(config, display)
    const signal = context.openInterruptSignal(display, 'the current request')
    const { mintWidgetToken } = await context.load(() => import('../app/token.ts'))
    const given = Object.entries({ email, name, company }).filter(
      ([, value]) => value !== undefined,
    )
    const session = {
      visitor: Object.fromEntries(given),
      metadata: Object.fromEntries(metadata),
      ttl,
    }
    const minted = await mintWidgetToken(config, project, session, { signal, log })
    const expiresAt = minted.expiresAt === null ? null : rfc3339(minted.expiresAt)
    // Integers beyond 2^53 do not occur in the response.
    const answer: unknown = JSON.parse(stringifyJson(minted.answer))
    return {
      document: { project: project.name, token: minted.token, expiresAt, answer },
      lines: [minted.token],
      exit: 0,
    }
  },
})

/** `k=` is an empty text; the value is what follows the first `=`. */
function parsePair(text: string, before: Options['metadata'] = []): Options['metadata'] {
  const at = text.indexOf('=')
  return at < 1 ? undefined : [...before, [text.slice(0, at), text.slice(at + 1)]]
}
