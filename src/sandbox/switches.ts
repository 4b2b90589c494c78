/** All behaviours that the service's documentation leaves open: each switch, its values, and its default (the first). */

type ChoiceSwitch<T extends string> = { readonly kind: 'choice'; readonly of: readonly T[]; readonly about: string }
type NumberSwitch = {
  readonly kind: 'number'
  readonly default: number
  readonly about: string
  readonly signed?: true
}
type BooleanSwitch = { readonly kind: 'boolean'; readonly default: boolean; readonly about: string }
type TextSwitch = { readonly kind: 'text'; readonly default: string; readonly about: string }
type Switch = ChoiceSwitch<string> | NumberSwitch | BooleanSwitch | TextSwitch

const choice = <const T extends string>(about: string, ...of: T[]): ChoiceSwitch<T> => ({ kind: 'choice', of, about })
const amount = (about: string, byDefault: number): NumberSwitch => ({ kind: 'number', default: byDefault, about })
/** A number that may be negative. */
const signed = (about: string, byDefault: number): NumberSwitch => ({ ...amount(about, byDefault), signed: true })
const flag = (about: string, byDefault: boolean): BooleanSwitch => ({ kind: 'boolean', default: byDefault, about })
const text = (about: string, byDefault: string): TextSwitch => ({ kind: 'text', default: byDefault, about })

const pageOrderText =
  'which end of the list a page holds (`…-bounded`: with a bound, and the other end without one; `any`: rows of any time), and how it shows them, by default from that end'

const pageEnds = ['oldest', 'newest', 'oldest-bounded', 'newest-bounded', 'any'] as const
export const pageOrders = pageEnds.flatMap(
  (end) => [end, `${end}-ascending`, `${end}-descending`, `${end}-shuffled`] as const,
)
export type PageOrder = (typeof pageOrders)[number]

const boundText = 'whether the bound includes the time itself, is ignored, or gets a 400'
const inclusiveBound = choice(boundText, 'inclusive', 'exclusive', 'ignored', 'refused')
const exclusiveBound = choice(boundText, 'exclusive', 'inclusive', 'ignored', 'refused')
export type BoundKind = (typeof inclusiveBound)['of'][number]

/** Every switch by name. */
export const switchTable = {
  'conversations.since': choice(
    'time that `since` compares and the list is ordered by',
    'lastMessageAt',
    'createdAt',
    'updatedAt',
  ),
  'conversations.bound': inclusiveBound,
  'conversations.order': choice(pageOrderText, ...pageOrders),
  'conversations.handled': choice('what the list shows without `handled`', 'all', 'open', 'handled'),
  'conversations.updatedAt': flag('whether conversations show `updatedAt`', false),
  'visitors.since': choice(
    'time that `since` compares and the list is ordered by',
    'lastSeenAt',
    'createdAt',
    'updatedAt',
  ),
  'visitors.bound': inclusiveBound,
  'visitors.order': choice(pageOrderText, ...pageOrders),
  'visitors.fields': choice('names and shape of the profile', 'plain', 'nested', 'snake'),
  'visitors.updatedAt': flag('whether visitors show a time of their last change', true),
  'calls.order': choice(pageOrderText, ...pageOrders),
  'calls.by': choice('time that `from` and `to` compare and the list is ordered by', 'startedAt', 'endedAt'),
  'calls.from': inclusiveBound,
  'calls.to': exclusiveBound,
  'calls.range': choice('whether `from` and `to` must be given', 'optional', 'required'),
  'calls.fields': choice('names and shape of a call', 'plain', 'nested', 'snake'),
  'analytics.range': choice('whether `from` and `to` must be given', 'required', 'optional'),
  'analytics.day': choice(
    'which time a rollup counts: from `from` to before `to`, or the day of that date in a zone of its own',
    'asked',
    'UTC',
    'America/New_York',
    'Asia/Kathmandu',
  ),
  'availability.answer': choice('the shape of the availability', 'plain', 'list', 'text'),
  'analytics.unreadable': text('comma-separated dates in UTC whose rollup cannot be read', ''),
  'analytics.answer': choice('what is answered for them', '400', '404', 'null', 'other-project'),
  'analytics.bots': flag(
    'whether a rollup counts the AI: conversations that only the AI answered as active, and its answers as responses',
    true,
  ),
  'analytics.started': choice(
    'when a rollup counts a conversation as started: at its creation, or at the first message of an agent',
    'creation',
    'agentMessage',
  ),
  'activity.before': exclusiveBound,
  'activity.order': choice(pageOrderText, 'newest', 'newest-ascending'),
  'activity.ids': choice(
    'ids of entries: none, one of its own for each, or that of the page that it is about, which several share',
    'none',
    'own',
    'page',
  ),
  'activity.fields': choice('names and shape of an entry', 'plain', 'nested', 'snake'),
  'messages.paging': choice('how to reach more than a page of messages', 'since', 'before', 'limit', 'all'),
  'messages.order': choice(pageOrderText, ...pageOrders),
  'messages.bound': inclusiveBound,
  'messages.limit': choice('whether the messages list honours `limit`', 'honoured', 'ignored'),
  'messages.page': amount('messages in a page where `limit` is absent or ignored', 50),
  'query.unknown': choice('what an unknown query parameter does', 'ignored', 'rejected'),
  'limit.over': choice('what a `limit` over 200 does', 'rejected', 'clamped', 'honoured'),
  hasMore: choice(
    '`full`: true whenever the page is full, even the last; `absent`: there is no such field',
    'exact',
    'full',
    'always',
    'never',
    'absent',
  ),
  'pages.size': amount('rows of a full page of every list, whatever `limit` says; 0 = as `limit` says', 0),
  'pages.hollow': flag('a list with a bound is empty, but claims that more follows', false),
  'single.shape': choice(
    'fields of a conversation, visitor or call that is read by its id: the same as in the list, more, fewer, or other values of some',
    'same',
    'more',
    'fewer',
    'other',
  ),
  'time.hidden': flag('filters compare with fractions of a second that responses do not show', false),
  'storm.conversations': amount('conversations that share one second', 0),
  'storm.visitors': amount('visitors that share one second', 0),
  'storm.calls': amount('calls that share one second', 0),
  'storm.messages': amount('messages of each conversation that share one second', 0),
  'storm.activity': amount('activity entries of each visitor that share one second', 0),
  'move.every': amount('a seeded change happens before every n-th list request; 0 = never', 0),
  'move.kinds': text('comma-separated kinds of those changes; empty = all that delete nothing', ''),
  'date.header': choice(
    'what the `Date` header says: the time of the rows, five minutes more or less, alternating, or nothing',
    'right',
    'ahead',
    'behind',
    'jumping',
    'absent',
  ),
  'date.offset': signed('seconds added to the `Date` header, in addition to `date.header`', 0),
  'rows.offset': signed('seconds added to all times of rows; filters compare the shown times', 0),
  'rows.zone': signed(
    'hours: times of rows are shown in the local time of that zone, but with a `Z`; filters compare the right times',
    0,
  ),
  'rows.rhythm': choice(
    'how many rows begin on each day: about as many on all, or more and fewer in the course of each week',
    'even',
    'weekly',
  ),
  'misdated.share': amount('0..1: share of rows whose times are shifted by `misdated.seconds`', 0),
  'misdated.seconds': signed('how far into the future; negative: into the past', 3600),
  'misdated.of': text(
    'comma-separated kinds of those rows: `conversations` (with their messages), `visitors`, `calls`, `messages`, `activity`',
    'conversations,visitors,calls',
  ),
  'misdated.last': choice(
    '`lastMessageAt` where messages are misdated: the shown time of the message that came last, the greatest shown time, or when the last one really came',
    'latest',
    'greatest',
    'real',
  ),
  'undated.share': amount(
    '0..1: share of rows whose time is null by which the list is ordered; a request with a bound does not show them',
    0,
  ),
  'undated.of': text('comma-separated kinds of those rows: `conversations`, `visitors`, `calls`', 'visitors,calls'),
  'undated.end': choice('the end of the list at which they are', 'newest', 'oldest'),
  'late.share': amount('0..1: share of rows that appear late, both new and changed', 0),
  'late.seconds': amount('how late: until then the previous version of the row is shown, or none', 60),
  'late.of': text('comma-separated kinds of those rows, as `misdated.of`', 'conversations,visitors,calls'),
  'late.byId': flag('whether reads by id are late as well', false),
  'reply.text': choice(
    'the shown text of a reply that was sent by the API',
    'as-sent',
    'trimmed',
    'escaped',
    'shortened',
    'signed',
    'translated',
    'redacted',
  ),
  'reply.name': choice('its shown sender name', 'as-sent', 'extended', 'team', 'empty'),
  'reply.sender': choice('its shown sender type', 'agent', 'human', 'ai', 'visitor', 'system'),
  'reply.kind': choice('its shown kind', 'utterance', 'api_message', 'event'),
  'reply.seconds': signed('seconds added to its time', 0),
  'reply.late': amount('milliseconds before it appears in the list of messages', 0),
  'stale.ms': amount('how long a list shows the old version of a changed row', 0),
  'reopen.byVisitor': flag("whether a visitor's message clears `handledAt`", true),
  'missing.status': choice(
    'the status of the answer for a row that is not there; 403 says that it is of another project',
    '404',
    '410',
    '403',
  ),
  'missing.rows': choice(
    'rows that are answered as if they were not there, although they are: none, every one that is read by its id, or all of them in lists, too',
    'none',
    'ids',
    'all',
  ),
  'messages.forbidden': amount(
    '0..1: share of conversations whose messages are answered 403 `conversation_restricted`',
    0,
  ),
  'recordings.none': choice('response for a call without a recording', '200', '404'),
  'note.field': choice("name of a note's text field", 'content', 'note', 'text', 'body'),
  'writes.answer': choice('status of an accepted write; 204 has no body', '200', '201', '204', '202'),
  'writes.body': choice(
    'response to an accepted write: the row, only its id, an object with nothing in it, or null',
    ...(['row', 'id', 'nothing', 'null'] as const),
  ),
  'token.answer': choice(
    'where the widget token is: a field of that name, `data` itself, a body without envelope, a field without a telling name',
    'token',
    'access_token',
    'text',
    'bare',
    'unnamed',
    'none',
  ),
  'ids.letters': choice(
    'letters of the ids of conversations, visitors and calls; `upper` ones are found in exactly these letters, the others in all',
    'lower',
    'upper',
    'upper-in-lists',
    'upper-by-id',
  ),
  'ids.big': flag('message ids beyond 2^53', false),
  content: choice(
    'contents of texts: emoji, NUL, very long ones; `hostile` adds lone surrogates',
    'varied',
    'plain',
    'hostile',
  ),
  'rows.hostile': choice(
    'one row in eleven: `odd` ones are unusual but storable; `unfit` ones are too deep, too large, of another project, or no objects',
    'none',
    'odd',
    'unfit',
  ),
  'fields.drift': amount('0: unchanged; 1: new fields appear; 2: they change type', 0),
  gzip: flag('whether responses are compressed for clients that accept it', false),
  'errors.retryable': choice('value of `retryable`', 'sensible', 'always', 'never', 'absent'),
  'errors.issues': choice('shape of an entry of `context.issues`', 'path', 'field', 'string'),
  'errors.context': choice('where `context` is', 'error', 'envelope'),
  'rate.kind': choice(
    'how requests in a window are counted; `started`: it starts with a request, `coarse`: sliding by whole seconds of a minute',
    'sliding',
    'fixed',
    'started',
    'coarse',
    'bucket',
    'estimated',
    'off',
  ),
  'rate.limit': amount('requests per key in a window', 600),
  'rate.writes': amount('writes per key in a window', 120),
  'rate.window': amount('length of the window in seconds', 60),
  'rate.foreign': amount('requests in each window that another client makes with the same key', 0),
  'rate.retryAfter': choice('form of the Retry-After header of a 429', 'seconds', 'date', 'absent'),
  'latency.before': amount('milliseconds before a request counts as received', 0),
  'latency.after': amount('milliseconds between the work and its response', 0),
  'latency.spread': amount('0..1: random part of each latency', 0),
  'fault.rate': amount('0..1: share of requests that meet a fault', 0),
  'fault.kinds': text(
    'comma-separated kinds of fault; empty = all but `foreign-429-after`, `huge`, `slow`, `status` and `says-failed`, the last two both before and after the operation',
    '',
  ),
  'fault.on': choice('which requests meet faults', 'all', 'reads', 'writes'),
  'fault.status': amount('the status of `status` and `status-after`', 409),
  'fault.says': choice(
    'how the body of `says-failed` and `says-failed-after` reports the failure, with status 200',
    'ok',
    'success',
    'errors',
    'error',
    'code',
    'data',
    'word',
  ),
  'fault.slowMs': amount('delay of a `slow` response', 3000),
  'fault.hugeMb': amount('size of a `huge` body', 64),
} as const

type SwitchTable = typeof switchTable
export type SwitchName = keyof SwitchTable
type SwitchValue<D> =
  D extends ChoiceSwitch<infer T> ? T : D extends NumberSwitch ? number : D extends BooleanSwitch ? boolean : string

export type Switches = { readonly [Name in SwitchName]: SwitchValue<SwitchTable[Name]> }

export const switchNames = Object.keys(switchTable) as SwitchName[]

/** Every switch at its default, except those given. Throws RangeError for an unknown name or value. */
export function parseSwitches(given: Readonly<Record<string, unknown>>, base?: Switches): Switches {
  const all: Record<string, unknown> = { ...(base ?? defaultSwitches) }
  for (const [name, value] of Object.entries(given)) if (value !== undefined) all[name] = parseSwitch(name, value)
  return all as Switches
}

const defaultSwitches: Readonly<Record<string, unknown>> = Object.fromEntries(
  Object.entries<Switch>(switchTable).map(([name, entry]) => [
    name,
    entry.kind === 'choice' ? entry.of[0] : entry.default,
  ]),
)

function parseSwitch(name: string, value: unknown): unknown {
  if (!Object.hasOwn(switchTable, name)) {
    throw new RangeError(`there is no switch ${name}; there are ${switchNames.join(', ')}`)
  }
  const entry: Switch = switchTable[name as SwitchName]
  if (entry.kind === 'choice' && entry.of.includes(String(value))) return String(value)
  if (entry.kind === 'number' && String(value).trim() !== '' && isAllowedNumber(entry, Number(value)))
    return Number(value)
  if (entry.kind === 'boolean' && ['true', 'false'].includes(String(value))) return String(value) === 'true'
  if (entry.kind === 'text') return String(value)
  throw new RangeError(`the switch ${name} cannot be ${String(value)}; it can be ${describeAllowed(entry)}`)
}

function isAllowedNumber({ signed }: NumberSwitch, value: number): boolean {
  return signed ? Number.isFinite(value) : value >= 0
}

/** The allowed values, in one line for people. */
export function describeAllowed(entry: Switch): string {
  if (entry.kind === 'choice') return entry.of.join(' | ')
  if (entry.kind === 'boolean') return 'true | false'
  if (entry.kind === 'text') return 'text'
  return entry.signed ? 'a number' : 'a number from 0'
}

/** The names in a comma-separated list. Throws a RangeError that says `refusal` for one that is not known. */
export function parseNames<Name extends string>(
  list: string,
  known: readonly Name[],
  refusal: (name: string) => string,
): readonly Name[] {
  const names = list.split(',').map((name) => name.trim())
  return names.flatMap((name) => {
    const found = known.find((one) => one === name)
    if (found === undefined && name !== '') throw new RangeError(refusal(name))
    return found ?? []
  })
}
