/** All behaviours that the documentation leaves open. */

const orderFrom = <End extends string>(end: End) =>
  `${end} | ${end}-ascending | ${end}-descending | ${end}-shuffled` as const
const orders =
  `${orderFrom('oldest')} | ${orderFrom('newest')} | ${orderFrom('oldest-bounded')} | ${orderFrom('newest-bounded')} | ${orderFrom('any')}` as const
export type PageOrder = Choice<typeof orders>
export const pageOrders = orders.split(' | ') as readonly PageOrder[]
const orderText =
  'which end of the list a page holds (`…-bounded`: with a bound, and the other end without one; `any`: rows of any time), and how it shows them, by default from that end'
const order = `${orders}: ${orderText}` as const

const boundText = 'whether the bound includes the time itself, is ignored, or gets a 400'
const inclusiveBound = `inclusive | exclusive | ignored | refused: ${boundText}` as const
const exclusiveBound = `exclusive | inclusive | ignored | refused: ${boundText}` as const
export type BoundKind = Choice<'inclusive | exclusive | ignored | refused'>

/**
 * What each switch can be, and what it means. Of several values the first is the default. One alone
 * is that of a flag, of a number from 0 (`±`: of any), or of a text (in quotes).
 */
const switchTable = {
  'conversations.since':
    'lastMessageAt | createdAt | updatedAt: time that `since` compares and the list is ordered by',
  'conversations.bound': inclusiveBound,
  'conversations.order': order,
  'conversations.handled': 'all | open | handled: what the list shows without `handled`',
  'conversations.updatedAt': 'false: whether conversations show `updatedAt`',
  'visitors.since':
    'lastSeenAt | createdAt | updatedAt: time that `since` compares and the list is ordered by',
  'visitors.bound': inclusiveBound,
  'visitors.order': order,
  'visitors.fields': 'plain | nested | snake: names and shape of the profile',
  'visitors.updatedAt': 'true: whether visitors show a time of their last change',
  'calls.order': order,
  'calls.by': 'startedAt | endedAt: time that `from` and `to` compare and the list is ordered by',
  'calls.from': inclusiveBound,
  'calls.to': exclusiveBound,
  'calls.window': '0: days between `from` and `to` at most; more gets a 400; 0 = any number',
  'calls.seconds': '0: how long every call takes; 0 = some longer than others',
  'calls.range': 'optional | required: whether `from` and `to` must be given',
  'calls.fields':
    'plain | nested | snake | caller: names and shape of a call; `caller`: its visitor is in `caller.ref`',
  'analytics.range': 'required | optional: whether `from` and `to` must be given',
  'analytics.day':
    'asked | UTC | America/New_York | Asia/Kathmandu: which time a rollup counts: from `from` to before `to`, or the day of that date in a zone of its own',
  'availability.answer': 'plain | list | text: the shape of the availability',
  'analytics.unreadable': '"": comma-separated dates in UTC whose rollup cannot be read',
  'analytics.answer': '400 | 404 | null | other-project | too-large: what is answered for them',
  'analytics.bots':
    'true: whether a rollup counts the AI: conversations that only the AI answered as active, and its answers as responses',
  'analytics.started':
    'creation | agentMessage: when a rollup counts a conversation as started: at its creation, or at the first message of an agent',
  'activity.before': exclusiveBound,
  'activity.order': `newest | newest-ascending: ${orderText}`,
  'activity.ids':
    'none | own | page: ids of entries: none, one of its own for each, or that of the page that it is about, which several share',
  'activity.fields': 'plain | nested | snake: names and shape of an entry',
  'messages.paging': 'since | before | limit | all: how to reach more than a page of messages',
  'messages.order': order,
  'messages.bound': inclusiveBound,
  'messages.limit': 'honoured | ignored: whether the messages list honours `limit`',
  'messages.page': '50: messages in a page where `limit` is absent or ignored',
  'messages.most':
    '0: how many messages a list has at most, the last ones; 0 = all of the conversation',
  'messages.kilobytes': '0: kilobytes that are added to the text of each message',
  'query.unknown': 'ignored | rejected: what an unknown query parameter does',
  'limit.over': 'rejected | clamped | honoured: what a `limit` over 200 does',
  hasMore:
    'exact | full | asked | always | never | absent: `full`: true whenever the page is full, even the last; `asked`: whenever it has as many rows as `limit` says; `absent`: there is no such field',
  'pages.size': '0: rows of a full page of every list, whatever `limit` says; 0 = as `limit` says',
  'pages.most': '0: rows of a full page of every list, if `limit` says more; 0 = as `limit` says',
  'pages.hollow': 'false: a list with a bound is empty, but claims that more follows',
  'single.shape':
    'same | more | fewer | other: fields of a conversation, visitor or call that is read by its id: the same as in the list, more, fewer, or other values of some',
  'time.hidden': 'false: filters compare with fractions of a second that responses do not show',
  'storm.conversations': '0: conversations that share one second',
  'storm.visitors': '0: visitors that share one second',
  'storm.calls': '0: calls that share one second',
  'storm.messages': '0: messages of each conversation that share one second',
  'storm.activity': '0: activity entries of each visitor that share one second',
  'move.every': '0: a seeded change happens before every n-th list request; 0 = never',
  'move.kinds': '"": comma-separated kinds of those changes; empty = all that delete nothing',
  'date.header':
    'right | ahead | behind | jumping | absent: what the `Date` header says: the time of the rows, five minutes more or less, alternating, or nothing',
  'date.offset': '±0: seconds added to the `Date` header, in addition to `date.header`',
  'rows.offset': '±0: seconds added to all times of rows; filters compare the shown times',
  'rows.zone':
    '±0: hours: times of rows are shown in the local time of that zone, but with a `Z`; filters compare the right times',
  'rows.rhythm':
    'even | weekly: how many rows begin on each day: about as many on all, or more and fewer in the course of each week',
  'misdated.share': '0: 0..1: share of rows whose times are shifted by `misdated.seconds`',
  'misdated.seconds': '±3600: how far into the future; negative: into the past',
  'misdated.of':
    '"conversations,visitors,calls": comma-separated kinds of those rows: `conversations` (with their messages), `visitors`, `calls`, `messages`, `activity`',
  'misdated.last':
    'latest | greatest | real: `lastMessageAt` where messages are misdated: the shown time of the message that came last, the greatest shown time, or when the last one really came',
  'undated.share':
    '0: 0..1: share of rows whose time is null by which the list is ordered; a request with a bound does not show them',
  'undated.of':
    '"visitors,calls": comma-separated kinds of those rows: `conversations`, `visitors`, `calls`',
  'undated.end': 'newest | oldest: the end of the list at which they are',
  'undated.times': 'order | all: which of their times are null: that one, or all that lists show',
  'late.share': '0: 0..1: share of rows that appear late, both new and changed',
  'late.seconds': '60: how late: until then the previous version of the row is shown, or none',
  'late.of':
    '"conversations,visitors,calls": comma-separated kinds of those rows, as `misdated.of`',
  'late.byId': 'false: whether reads by id are late as well',
  'reply.text':
    'as-sent | trimmed | escaped | shortened | signed | translated | redacted: the shown text of a reply that was sent by the API',
  'reply.name': 'as-sent | extended | team | empty: its shown sender name',
  'reply.sender': 'agent | human | ai | visitor | system: its shown sender type',
  'reply.kind': 'utterance | api_message | event: its shown kind',
  'reply.seconds': '±0: seconds added to its time',
  'reply.shows':
    'all | reopened | nothing: what its conversation shows of it: everything, only that it is open again, or nothing',
  'reply.late': '0: milliseconds before it appears in the list of messages',
  'stale.ms': '0: how long a list shows the old version of a changed row',
  'reopen.byVisitor': "true: whether a visitor's message clears `handledAt`",
  'missing.status':
    '404 | 410 | 403: the status of the answer for a row that is not there; 403 says that it is of another project',
  'missing.rows':
    'none | ids | all: rows that are answered as if they were not there, although they are: none, every one that is read by its id, or all of them in lists, too',
  'refused.paths':
    '"": comma-separated parts of paths, such as ids: requests to them are refused as `refused.answer` says',
  'refused.answer':
    'wrong-project | invalid-key | missing-scope | restricted | gateway-403 | gateway-404 | gateway-405 | gateway-500: the answer, in the envelope or that of a gateway',
  'messages.forbidden':
    '0: 0..1: share of conversations whose messages are answered 403 `conversation_restricted`',
  'recordings.none': '200 | 404: response for a call without a recording',
  'note.field': "content | note | text | body: name of a note's text field",
  'writes.answer': '200 | 201 | 204 | 202: status of an accepted write; 204 has no body',
  'writes.effect':
    'done | none: whether flags and corrections that are answered as accepted change anything',
  'visitors.stores':
    'as-sent | one-space | lower-case | untagged | empty: how a name and an address are stored: without superfluous spaces, in lower case, without the `+tag` of an address, or empty instead of null',
  'writes.body':
    'row | id | nothing | null: response to an accepted write: the row, only its id, an object with nothing in it, or null',
  'token.answer':
    'token | access_token | text | bare | unnamed | none: where the widget token is: a field of that name, `data` itself, a body without envelope, a field without a telling name',
  'ids.letters':
    'lower | upper | upper-in-lists | upper-by-id: letters of the ids of conversations, visitors and calls; `upper` ones are found in exactly these letters, the others in all',
  'ids.big': 'false: message ids beyond 2^53',
  content:
    'varied | plain | hostile: contents of texts: emoji, NUL, very long ones; `hostile` adds lone surrogates',
  'rows.hostile':
    'none | odd | unfit: one row in eleven: `odd` ones are unusual but storable; `unfit` ones are too deep, too large, of another project, or no objects',
  'rows.broken':
    '"": comma-separated parts of rows, such as ids: the first time after each in a response is no longer JSON, as `rows.brokenBy` says',
  'rows.brokenBy':
    'encoding | quote | brace: a byte that is not UTF-8, a quotation mark that nothing escapes, or, before that part, a brace that nothing closes',
  'fields.drift': '0: 0: unchanged; 1: new fields appear; 2: they change type',
  gzip: 'false: whether responses are compressed for clients that accept it',
  'encoding.unasked':
    'none | gzip | deflate | br | zstd: how responses are compressed, whatever the client accepts',
  'errors.retryable': 'sensible | always | never | absent: value of `retryable`',
  'errors.issues': 'path | field | string: shape of an entry of `context.issues`',
  'errors.context': 'error | envelope: where `context` is',
  'rate.kind':
    'sliding | fixed | started | coarse | bucket | estimated | off: how requests in a window are counted; `started`: it starts with a request, `coarse`: sliding by whole seconds of a minute',
  'rate.limit': '600: requests per key in a window',
  'rate.writes': '120: writes per key in a window',
  'rate.window': '60: length of the window in seconds',
  'rate.burst': '0: requests that a bucket holds; 0 = those of a window',
  'rate.inFlight':
    '0: requests of a key that may be in flight at once; one more gets a 429; 0 = any number',
  'rate.foreign': '0: requests in each window that another client makes with the same key',
  'rate.retryAfter': 'seconds | date | absent: form of the Retry-After header of a 429',
  'latency.before': '0: milliseconds before a request counts as received',
  'latency.after': '0: milliseconds between the work and its response',
  'latency.spread': '0: 0..1: random part of each latency',
  'fault.rate': '0: 0..1: share of requests that meet a fault',
  'fault.kinds':
    '"": comma-separated kinds of fault; empty = all but `foreign-429-after`, `html-429`, `huge`, `slow`, `status` and `says-failed`; `html-429` and the last two both before and after the operation',
  'fault.on': 'all | reads | writes: which requests meet faults',
  'fault.status': '409: the status of `status` and `status-after`',
  'fault.says':
    'ok | success | errors | error | code | data | word: how the body of `says-failed` and `says-failed-after` reports the failure, with status 200',
  'fault.retryAfter':
    '0: seconds of Retry-After in the answer of a fault with 429 or `status`; 0 = those of its kind',
  'fault.slowMs': '3000: delay of a `slow` response',
  'fault.hugeMb': '64: size of a `huge` body',
} as const

type Choice<Range extends string> = Range extends `${infer First} | ${infer Others}`
  ? First | Choice<Others>
  : Range

type Value<Text extends string> = Text extends `${'true' | 'false'}: ${string}`
  ? boolean
  : Text extends `"${string}": ${string}`
    ? string
    : Text extends `${'' | '±'}${number}: ${string}`
      ? number
      : Text extends `${infer Range}: ${string}`
        ? Choice<Range>
        : never

type SwitchName = keyof typeof switchTable
export type Switches = { readonly [Name in SwitchName]: Value<(typeof switchTable)[Name]> }

export const switchNames = Object.keys(switchTable) as SwitchName[]

const defaultSwitches = Object.fromEntries(
  switchNames.map((name) => [name, rangeOf(name).usual]),
) as Switches

/** The others at their defaults. Throws RangeError for an unknown name or value. */
export function parseSwitches(
  given: Readonly<Record<string, unknown>>,
  base = defaultSwitches,
): Switches {
  const all: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) all[name] = parseSwitch(name, value)
  return all as Switches
}

function parseSwitch(name: string, value: unknown): unknown {
  if (!Object.hasOwn(switchTable, name))
    throw new RangeError(`there is no switch ${name}; there are ${switchNames.join(', ')}`)
  const { words, parse } = rangeOf(name as SwitchName)
  const parsed = parse(String(value))
  if (parsed === undefined)
    throw new RangeError(`the switch ${name} cannot be ${String(value)}; it can be ${words}`)
  return parsed
}

/** The allowed values in words; the parser returns undefined for others. */
function rangeOf(name: SwitchName) {
  const [range = ''] = switchTable[name].split(': ')
  const oneOf = (values: readonly string[]) => (text: string) =>
    values.find((value) => value === text)
  const numberFrom = (lowest: number) => (text: string) =>
    text.trim() !== '' && Number(text) >= lowest ? Number(text) : undefined
  if (range.startsWith('"'))
    return { usual: range.slice(1, -1), words: 'text', parse: (text: string) => text }
  if (range.startsWith('±'))
    return {
      usual: Number(range.slice(1)),
      words: 'a number',
      parse: numberFrom(Number.NEGATIVE_INFINITY),
    }
  if (/^\d+$/.test(range))
    return { usual: Number(range), words: 'a number from 0', parse: numberFrom(0) }
  if (range === 'true' || range === 'false')
    return {
      usual: range === 'true',
      words: 'true | false',
      parse: (text: string) => ({ true: true, false: false })[text],
    }
  const values = range.split(' | ')
  return { usual: values[0], words: range, parse: oneOf(values) }
}

/** In one line for people. */
export function describeSwitch(name: SwitchName): string {
  const { usual, words } = rangeOf(name)
  const [range = '', ...about] = switchTable[name].split(': ')
  const shownDefault = words === range ? '' : ` (${String(usual) || 'empty'})`
  return `${words}${shownDefault}: ${about.join(': ')}`
}

/** In a comma-separated list. Throws a RangeError that says `why`. */
export function parseNames<Name extends string>(
  list: string,
  known: readonly Name[],
  why: (name: string) => string,
) {
  const names = list.split(',').map((name) => name.trim())
  return names.flatMap((name) => {
    const found = known.find((one) => one === name)
    if (found === undefined && name !== '') throw new RangeError(why(name))
    return found ?? []
  })
}
