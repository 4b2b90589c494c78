/** Rows in the format of the service, with undocumented fields in several styles. */
import { type Json, type JsonObject, rawJson } from '../values/json.ts'
import { type EpochMs, toTimestamp } from '../values/time.ts'
import type { Activity, Conversation, Message, PhoneCall, Visitor } from './model.ts'
import { pick, purposes, toUnitInterval } from './random.ts'
import type { ProjectState } from './state.ts'
import type { Switches } from './switches.ts'

export function createWireFormat(
  projectId: string,
  { seedData: { random }, notes }: ProjectState,
  s: Switches,
) {
  const { hostile, hostileMessage } = createHostility(projectId, s)
  return {
    conversation: ({ index, updatedAt, ...row }: Conversation) =>
      hostile(index, {
        ...row,
        projectId,
        status: 'open',
        createdAt: shownTime(row.createdAt),
        lastMessageAt: shownTime(row.lastMessageAt),
        handledAt: shownTime(row.handledAt),
        waitingSince: shownTime(row.waitingSince),
        ...(s['conversations.updatedAt'] ? { updatedAt: shownTime(updatedAt) } : {}),
        ...driftingField(s, 'priority', index % 3 === 0 ? 'high' : 'normal', index % 3),
      }),
    message: (conversationId: string, { reply, ...row }: Message) =>
      hostileMessage(row.id, {
        ...row,
        // 2^53 and more: a reader that parses it as a float merges neighbouring ids.
        id: s['ids.big'] ? 9_007_199_254_740_993n + BigInt(row.id) : row.id,
        conversationId,
        createdAt: shownTime(row.createdAt),
        ...longText(row.content, s['messages.kilobytes']),
        ...driftingField(s, 'language', 'en', { code: 'en', sure: 0.97 }),
      }),
    visitor: (row: Visitor) =>
      hostile(
        row.index,
        visitorForms[s['visitors.fields']](row, projectId, random(purposes.place, row.index), s),
      ),
    activity: (row: Activity) =>
      hostile(row.variantSeed, {
        ...activityIds[s['activity.ids']](row),
        ...activityForms[s['activity.fields']](row),
      }),
    call: (row: PhoneCall) =>
      hostile(
        row.index,
        callForms[s['calls.fields']](row, projectId, random(purposes.extra, row.index)),
      ),
    recording: recordingRow,
    note: ({ id, visitorId, content, createdAt }: (typeof notes)[number]): Json => ({
      id,
      visitorId,
      [s['note.field']]: content,
      createdAt: shownTime(createdAt),
    }),
  }
}

function longText(content: string, kilobytes: number): JsonObject {
  return kilobytes === 0 ? {} : { content: `${content} ${'x'.repeat(kilobytes * 1024)}` }
}

const countries = ['DE', 'FR', 'JP', 'BR', 'US', null]
const plans = ['free', 'team', 'enterprise']

const visitorForms: Record<
  Switches['visitors.fields'],
  (row: Visitor, projectId: string, draw: number, s: Switches) => JsonObject
> = {
  plain: (row, projectId, draw, s) => ({
    id: row.id,
    projectId,
    name: row.name,
    email: row.email,
    createdAt: shownTime(row.createdAt),
    lastSeenAt: shownTime(row.lastSeenAt),
    ...(s['visitors.updatedAt'] ? { updatedAt: shownTime(row.updatedAt) } : {}),
    phone: null,
    ...(s['fields.drift'] < 2 ? { company: draw % 3 === 0 ? null : `Company ${draw % 500}` } : {}),
    country: pick(countries, draw),
    pageViews: draw % 4000,
    score: Math.round(toUnitInterval(draw) * 10_000) / 100,
    isBlocked: draw % 50 === 0,
    tags: draw % 2 === 0 ? [] : ['vip', `segment-${draw % 7}`],
    customFields: {
      plan: pick(plans, draw),
      seats: draw % 90,
      trial: draw % 5 === 0,
      renewsAt: shownTime(row.createdAt),
    },
    ...driftingField(s, 'loyalty', draw % 100, 'gold'),
  }),
  nested: (row, projectId, draw, s) => ({
    id: row.id,
    projectId,
    name: row.name,
    email: row.email,
    timestamps: {
      firstSeenAt: shownTime(row.createdAt),
      lastSeenAt: shownTime(row.lastSeenAt),
      ...(s['visitors.updatedAt'] ? { changedAt: shownTime(row.updatedAt) } : {}),
    },
    location: {
      country: pick(countries, draw),
      geo: { lat: toUnitInterval(draw) * 180 - 90, lng: toUnitInterval(draw) * 360 - 180 },
    },
    device: draw % 4 === 0 ? null : { browser: 'Firefox', mobile: draw % 3 === 0 },
    attributes: [{ key: 'plan', value: pick(plans, draw) }],
    ...driftingField(s, 'loyalty', { points: draw % 100 }, [draw % 100]),
  }),
  snake: (row, projectId, draw, s) => ({
    visitor_id: row.id,
    project_id: projectId,
    name: row.name,
    email: row.email,
    first_seen: shownTime(row.createdAt),
    last_seen: shownTime(row.lastSeenAt),
    ...(s['visitors.updatedAt'] ? { updated: shownTime(row.updatedAt) } : {}),
    country_code: pick(countries, draw),
    'utm.source': draw % 6 === 0 ? 'newsletter' : null,
    ...driftingField(s, 'loyalty', false, 3.5),
  }),
}

/** How many pages the entries of a visitor are about. */
const pages = 3

const activityIds: Record<Switches['activity.ids'], (row: Activity) => JsonObject> = {
  none: () => ({}),
  own: ({ position }) => ({ id: `entry-${position}` }),
  page: ({ position }) => ({ id: `page-${position % pages}` }),
}

const activityForms: Record<Switches['activity.fields'], (row: Activity) => JsonObject> = {
  plain: ({ kind, at, variantSeed }) => ({
    type: kind,
    occurredAt: shownTime(at),
    url: `https://shop.example/p/${variantSeed % 300}`,
    title: variantSeed % 8 === 0 ? null : `Page ${variantSeed % 300}`,
    durationMs: variantSeed % 90_000,
    metadata: {
      referrer: null,
      experiment: { id: variantSeed % 5, variant: variantSeed % 2 === 0 ? 'a' : 'b' },
    },
  }),
  nested: ({ kind, at, variantSeed }) => ({
    event: { name: kind, at: shownTime(at) },
    page: { path: `/p/${variantSeed % 300}`, scroll: toUnitInterval(variantSeed) },
    tags: [kind],
  }),
  snake: ({ kind, at, variantSeed }) => ({
    event_type: kind,
    timestamp: shownTime(at),
    ref: variantSeed % 1000,
    bot: false,
  }),
}

const plainCall = (row: PhoneCall, projectId: string, draw: number): JsonObject => ({
  id: row.id,
  projectId,
  visitorId: row.visitorId,
  conversationId: null,
  direction: draw % 2 === 0 ? 'inbound' : 'outbound',
  status: row.outcome,
  startedAt: shownTime(row.startedAt),
  endedAt: shownTime(row.endedAt),
  durationSeconds: Math.floor((row.endedAt - row.startedAt) / 1000),
  cost: Math.round(toUnitInterval(draw) * 1000) / 1000,
  tags: draw % 3 === 0 ? ['callback'] : [],
  agent: draw % 5 === 0 ? null : { id: `agt_${draw % 12}`, name: 'Robin' },
})

const callForms: Record<Switches['calls.fields'], typeof plainCall> = {
  plain: plainCall,
  caller: (row, ...more) => {
    const { visitorId, ...fields } = plainCall(row, ...more)
    return { ...fields, caller: { ref: visitorId ?? null, kind: 'visitor' } }
  },
  nested: (row, projectId, draw) => ({
    id: row.id,
    project: { id: projectId },
    timing: {
      createdAt: shownTime(row.startedAt),
      endedAt: shownTime(row.endedAt),
      spokenSeconds: Math.floor((row.endedAt - row.startedAt) / 1000),
    },
    participants: [{ role: 'visitor', id: row.visitorId }],
    outcome: { code: row.outcome, retried: draw % 2 === 0 },
  }),
  snake: (row, _projectId, draw) => ({
    call_id: row.id,
    visitor_id: row.visitorId,
    created_at: shownTime(row.startedAt),
    ended_at: shownTime(row.endedAt),
    result: row.outcome,
    rating: draw % 6,
  }),
}

function recordingRow(row: PhoneCall): Json {
  if (row.recordedAt === null) return { callId: row.id, hasRecording: false }
  return {
    callId: row.id,
    hasRecording: true,
    readyAt: shownTime(row.recordedAt),
    durationSeconds: Math.floor((row.endedAt - row.startedAt) / 1000),
    format: 'ogg',
    sizeBytes: (row.endedAt - row.startedAt) * 4,
    channels: ['agent', 'visitor'],
    storage: { region: 'eu-central', encrypted: true, expiresAt: null },
  }
}

const shownTime = (at: EpochMs | null): string | null =>
  at === null || Number.isNaN(at) ? null : toTimestamp(at)

/** A field that the service adds at some time, and whose type changes later. */
function driftingField(s: Switches, name: string, first: Json, then: Json): Record<string, Json> {
  if (s['fields.drift'] < 1) return {}
  return { [name]: s['fields.drift'] < 2 ? first : then }
}

export function toSingleRow(row: Json, { 'single.shape': shape }: Switches): Json {
  const fields = Object.entries(row as JsonObject)
  if (shape === 'more')
    return Object.fromEntries([
      ['permalink', `https://support.example/${String(fields[0]?.[1])}`],
      ...fields,
    ])
  if (shape === 'other')
    return Object.fromEntries(fields.map(([name, value]) => [name, otherValue(name, value)]))
  if (shape === 'fewer')
    return Object.fromEntries(
      fields.filter(([name]) => !['origin', 'tags', 'status', 'device'].includes(name)),
    )
  return row
}

/** As another part of the service counts or names a field. */
function otherValue(name: string, value: Json): Json {
  if (
    !['status', 'priority', 'pageViews', 'customFields', 'country_code', 'cost', 'rating'].includes(
      name,
    )
  )
    return value
  if (typeof value === 'object' && value !== null) return { ...value, plan: 'by id' }
  return typeof value === 'number' ? value + 1 : `${String(value)}, by id`
}

const rawNumber = (text: string) => rawJson(text) as Json

/** Of `odd` rows, which a mirror must be able to store; `unfit` ones it cannot store. */
const oddFields: readonly ((n: number) => JsonObject)[] = [
  () => ({ 'nul\0in a name': 1, 'half\ud800': { '\udfff': 'x', 'esc␛0000': 2 }, '': 'no name' }),
  () =>
    JSON.parse(
      '{"__proto__":{"a":1},"constructor":"x","toString":{"valueOf":2},"hasOwnProperty":[]}',
    ),
  () => ({
    raw: 'x',
    synced_at: '2026-01-01T00:00:00Z',
    run_id: 7,
    asked_at: 'x',
    deleted_at: true,
    rowid: 1,
  }),
  () => ({ fooBar: 1, foo_bar: 2, 'foo bar': 3, FooBar: 4, 'foo.bar': 5, foo: { bar: 6 } }),
  () => ({ [`long${'.name'.repeat(1000)}`]: 1, ['A'.repeat(3000)]: 2, [`${'é'.repeat(290)}`]: 3 }),
  () => ({
    huge: rawNumber('1e400'),
    zero: rawNumber('-0'),
    digits: rawNumber(`1${'0'.repeat(400)}`),
    has: 'constructor',
  }),
  () => ({
    day: '9999-99-99T00:00:00Z',
    year: '+275760-09-13T00:00:00Z',
    first: '0000-00-00T00:00:00Z',
  }),
  (n) => Object.fromEntries(Array.from({ length: 4 }, (_, i) => [`wide${n % 4}_${i}`, i])),
  () => ({ nest: nestedJson(900), list: Array.from({ length: 5000 }, (_, i) => i) }),
]

/** More values than a mirror accepts in one row. */
const longList: Json = Array.from({ length: 110_000 }, () => 0)

const unfitRows: readonly ((row: JsonObject, project: string) => Json)[] = [
  (row) => ({ ...row, nest: nestedJson(1200) }),
  (row) => ({ ...row, list: longList }),
  (row) => ({ ...row, [idField(row)]: 'x'.repeat(5000) }),
  (row) => ({ ...row, projectId: '00000000-0000-4000-8000-000000000000' }),
  () => null,
  () => ['a list'],
  () => 'a string',
]

/** One row in so many, cycling through the kinds; messages more rarely. */
const every = 11
const everyMessage = 31

/** Both select the same rows on every read. */
function createHostility(project: string, { 'rows.hostile': kind }: Switches) {
  const odd = (n: number, every: number) => oddFields[Math.floor(n / every) % oddFields.length]?.(n)
  const unfit = (n: number, row: JsonObject) =>
    unfitRows[Math.floor(n / every) % unfitRows.length]?.(row, project) ?? null
  return {
    hostile: (n: number, row: JsonObject): Json => {
      if (kind === 'none' || n % every !== 3) return row
      return kind === 'odd' ? { ...row, ...odd(n, every) } : unfit(n, row)
    },
    /** It keeps its id, by which messages are compared with the truth. */
    hostileMessage: (id: number, row: JsonObject): JsonObject => {
      if (kind === 'none' || id % everyMessage !== 3) return row
      return { ...row, ...(kind === 'odd' ? odd(id, everyMessage) : { nest: nestedJson(1200) }) }
    },
  }
}

const idField = (row: JsonObject): string =>
  ['id', 'visitor_id', 'call_id'].find((name) => name in row) ?? 'id'

function nestedJson(levels: number): Json {
  let value: Json = 'deep'
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { in: value }
  return value
}
