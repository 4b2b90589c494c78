/** All streams: how each is requested, and how its items become rows. */

import type { MirrorRow } from '../../../schema/row.ts'
import {
  isChildStream,
  type ListStreamName,
  listStreamNames,
  type StreamName,
} from '../../../schema/stream-specs.ts'
import { pathSegment } from '../../service/core/path-segment.ts'
import { findKey } from '../../values/field-path.ts'
import { asJsonObject, type Json, type JsonObject, type Scalar } from '../../values/json.ts'
import {
  daySeconds,
  hourSeconds,
  minuteSeconds,
  parseTime,
  rfc3339,
  type Seconds,
} from '../../values/time.ts'
import type { StreamField } from '../../values/unseen-rules.ts'
import {
  activityKey,
  contentHash,
  type DocumentedFields,
  entryId,
  itemIdentity,
  occurredAt,
  occurredAtFields,
  parseItems,
  timesIn,
  toRow,
} from './item-fields.ts'
import { fieldsNotInColumns, messageFields } from './message-fields.ts'
import type { ListEndpoint } from './pagination/paging-profile.ts'
import type {
  ChildListStream,
  ChildObjectStream,
  DailyStream,
  ListStream,
  SnapshotStream,
  Stream,
} from './stream-kinds.ts'

/** Recording metadata, one request per call. A recording can appear long after its call. */
const recordingFields: DocumentedFields = {
  callId: ['call_id', 'text'],
  hasRecording: ['has_recording', 'boolean'],
}

const toFields = <Item extends Json>(item: Item | null) =>
  (asJsonObject(item ?? {}) ?? {}) as Item & JsonObject

/** Up to this age of the call, a missing recording is requested again. */
const recheckWindowSeconds = 7 * daySeconds

export const callRecordings: ChildObjectStream = {
  kind: 'child-object',
  name: 'call_recordings',
  scope: 'calls:read',
  path: (call) => `/public/calls/${pathSegment(call)}/recording`,
  parseRow: (item, call, readAt) => {
    const own = { call_id: call, read_at: rfc3339(readAt) }
    return toRow(
      toFields(item),
      recordingFields,
      item === null ? { ...own, has_recording: false } : own,
    )
  },
  // The intervals grow: a recording that is missing after an hour is rarely there after two.
  rereadAfter: (item, age: Seconds) => {
    if (item?.hasRecording === true || age > recheckWindowSeconds) return null
    return Math.max(15 * minuteSeconds, Math.min(age, 6 * hourSeconds))
  },
}

/** The service keeps no history, so only snapshots can provide one. */
const availabilityFields: DocumentedFields = {
  available: ['available', 'boolean'],
  agentsOnline: ['agents_online', 'integer'],
}

export const availability: SnapshotStream = {
  kind: 'snapshot',
  name: 'availability',
  scope: 'availability:read',
  path: (project) => `/public/projects/${pathSegment(project)}/availability`,
  parseRow: (item, readAt) =>
    toRow(toFields(item), availabilityFields, { read_at: rfc3339(readAt) }),
}

/** The analytics rollup, one request per day. Its fields are undocumented. */
export const analytics: DailyStream = {
  kind: 'daily',
  name: 'analytics',
  scope: 'analytics:read',
  path: (project) => `/public/projects/${pathSegment(project)}/analytics`,
  parseRow: (item, { date, from, to }, timeZone, readAt) => ({
    columns: {
      window_from: rfc3339(from),
      window_to: rfc3339(to),
      day: date,
      time_zone: timeZone,
      read_at: rfc3339(readAt),
    },
    extraFields: new Map(),
    item,
  }),
}

const definitions: {
  readonly [N in ListStreamName]: Pick<ListStream, 'rowPath'> &
    Pick<ListEndpoint, 'lowerParam' | 'upperParam' | 'partitions'> & {
      /** Likely names of the field with the id, best first. */
      readonly idNames: readonly string[]
      readonly documented: DocumentedFields
      /** Columns that are computed from the whole item. */
      readonly computed?: (item: JsonObject) => Readonly<Record<string, Scalar>>
    }
} = {
  /** Without the texts of their messages. */
  conversations: {
    lowerParam: 'since',
    upperParam: null,
    partitions: [{ handled: true }, { handled: false }],
    rowPath: (_project, id) => `/public/conversations/${pathSegment(id)}`,
    idNames: ['id', 'conversationid'],
    documented: {
      visitorId: ['visitor_id', 'text'],
      status: ['status', 'text'],
      createdAt: ['created_at', 'time'],
      lastMessageAt: ['last_message_at', 'time'],
      lastMessageSenderType: ['last_message_sender_type', 'text'],
      handledAt: ['handled_at', 'time'],
      waitingSince: ['waiting_since', 'time'],
      assignedAgentId: ['assigned_agent_id', 'text'],
      origin: ['origin', 'text'],
    },
  },
  visitors: {
    lowerParam: 'since',
    upperParam: null,
    partitions: [],
    rowPath: (project, id) =>
      `/public/projects/${pathSegment(project)}/visitors/${pathSegment(id)}`,
    idNames: ['id', 'visitorid', 'uuid'],
    documented: { name: ['name', 'text'], email: ['email', 'text'] },
  },
  /** No field is documented. */
  calls: {
    lowerParam: 'from',
    upperParam: 'to',
    partitions: [],
    rowPath: (_project, id) => `/public/calls/${pathSegment(id)}`,
    idNames: ['id', 'callid', 'uuid'],
    documented: occurredAtFields,
    computed: (item) => ({ occurred_at: occurredAt(item) }),
  },
}

function createListStream(name: ListStreamName): ListStream {
  const { rowPath, idNames, documented, computed, ...endpoint } = definitions[name]
  const itemId = (item: Json) => findKey(item, idNames)
  const fields: DocumentedFields = { ...documented, id: ['id', 'text'] }
  return {
    kind: 'list',
    name,
    scope: `${name}:read`,
    list: (project) => ({
      ...endpoint,
      name,
      path: `/public/projects/${pathSegment(project)}/${name}`,
      query: {},
      isDocumented: true,
      identify: (item) => itemIdentity(itemId(item), item),
      times: timesIn,
    }),
    rowPath,
    parseRows: (items, project = null) =>
      parseItems(items, project, (item) => {
        const id = itemId(item)
        return id === null ? null : toRow(item, fields, { id, ...computed?.(item) })
      }),
  }
}

export const listStreams = Object.fromEntries(
  listStreamNames.map((name) => [name, createListStream(name)]),
) as Readonly<Record<ListStreamName, ListStream>>

export const { conversations, visitors, calls } = listStreams

export const messages: ChildListStream = {
  kind: 'child-list',
  name: 'messages',
  scope: 'conversations:read',
  parentShowsNewest: true,
  isNumbered: false,
  list: (_project, conversation) => ({
    name: 'messages',
    path: `/public/conversations/${pathSegment(conversation)}/messages`,
    query: {},
    lowerParam: 'since',
    upperParam: 'before',
    isDocumented: false,
    partitions: [],
    identify: (item) => itemIdentity(findKey(item, ['id']), item),
    times: (item) => {
      const at = parseTime(asJsonObject(item)?.createdAt)
      return at === undefined ? new Map() : new Map([['createdAt', at]])
    },
  }),
  parseRows: (items, conversation, { project = null } = {}) =>
    parseItems(items, project, (item) =>
      findKey(item, ['id']) === null ? null : toMessage(item, conversation),
    ),
}

function toMessage<Item extends JsonObject>(item: Item, conversation: string): MirrorRow<Item> {
  const row = toRow(item, messageFields, { conversation_id: conversation })
  return { ...row, storedRaw: fieldsNotInColumns(item, row.columns) }
}

export const visitorActivity: ChildListStream = {
  kind: 'child-list',
  name: 'visitor_activity',
  scope: 'visitors:read',
  parentShowsNewest: false,
  isNumbered: true,
  list: (project, visitor) => ({
    name: 'visitor_activity',
    path: `/public/projects/${pathSegment(project)}/visitors/${pathSegment(visitor)}/activity`,
    query: {},
    lowerParam: null,
    upperParam: 'before',
    isDocumented: true,
    partitions: [],
    identify: (item) => activityKey(item, occurredAt(item)),
    times: timesIn,
  }),
  parseRows: (items, visitor, { project = null, duplicateCounts = new Map() } = {}) => {
    const distinct = items.filter((item) => !isRepeated(item, duplicateCounts))
    return parseItems(distinct, project, (item) => {
      const at = occurredAt(item)
      const key = activityKey(item, at)
      const ordinal = countDuplicate(duplicateCounts, key)
      const own = { visitor_id: visitor, entry_hash: key, ordinal, occurred_at: at }
      return toRow(item, { ...occurredAtFields, visitorId: ['visitor_id', 'text'] }, own)
    })
  },
}

/** An entry with an id that a page shows twice is one entry. Without an id, it may be two. */
function isRepeated(item: Json, counts: Map<string, number>): boolean {
  return entryId(item) !== null && countDuplicate(counts, `content:${contentHash(item)}`) > 0
}

/** How many there were before this one. */
function countDuplicate(counts: Map<string, number>, key: string): number {
  const before = counts.get(key) ?? 0
  counts.set(key, before + 1)
  return before
}

const streams = {
  availability,
  ...listStreams,
  messages,
  visitor_activity: visitorActivity,
  call_recordings: callRecordings,
  analytics,
} satisfies Record<StreamName, Stream>

export const allStreams: readonly Stream[] = Object.values(streams)
export const childStreams = allStreams.filter(({ name }) => isChildStream(name))

const documentedOf: Readonly<Partial<Record<StreamName, DocumentedFields>>> = {
  ...Object.fromEntries(listStreamNames.map((name) => [name, definitions[name].documented])),
  messages: messageFields,
  call_recordings: recordingFields,
  availability: availabilityFields,
}

/** What the service documents of its rows, by the names of the columns. */
export const documentedFields: readonly StreamField[] = Object.entries(documentedOf).flatMap(
  ([stream, fields]) => Object.values(fields).map(([path]) => ({ stream, path })),
)
