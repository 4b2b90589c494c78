/** The list streams: how each list of the project is requested, and how its items become rows. */

import { type ListStreamName, listStreamNames } from '../../../schema/stream-specs.ts'
import { pathSegment } from '../../service/core/path-segment.ts'
import type { Json, JsonObject, Scalar } from '../../values/json.ts'
import type { ProjectId } from '../../values/project.ts'
import { findKey, occurredAt, timesIn } from '../core/item-fields.ts'
import type { ListEndpoint } from '../core/pagination/list-endpoint.ts'
import { type DocumentedFields, itemIdentity, occurredAtFields, toRow } from './item.ts'
import { type ListStream, parseItems } from './stream.ts'

type ListDefinition = Pick<ListStream, 'scope' | 'rowPath'> &
  Pick<ListEndpoint, 'lowerParam' | 'upperParam' | 'partitions'> & {
    /** Likely names of the field with the id, best first. */
    readonly idNames: readonly string[]
    readonly documented: DocumentedFields
    /** Columns that are computed from the whole item. */
    readonly computed?: (item: JsonObject) => Readonly<Record<string, Scalar>>
  }

const definitions: { readonly [N in ListStreamName]: ListDefinition } = {
  /** Without the texts of their messages. */
  conversations: {
    scope: 'conversations:read',
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
    scope: 'visitors:read',
    lowerParam: 'since',
    upperParam: null,
    partitions: [],
    rowPath: (project, id) => `/public/projects/${pathSegment(project)}/visitors/${pathSegment(id)}`,
    idNames: ['id', 'visitorid', 'uuid'],
    documented: { name: ['name', 'text'], email: ['email', 'text'] },
  },
  /** No field is documented. */
  calls: {
    scope: 'calls:read',
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
  const { scope, rowPath, idNames, documented, computed, ...endpoint } = definitions[name]
  const itemId = (item: Json) => findKey(item, idNames)
  const fields: DocumentedFields = { ...documented, id: ['id', 'text'] }
  return {
    kind: 'list',
    name,
    scope,
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

/** The open conversations: a short list even for large projects, and the only one that shows a changed handled flag. */
export function openConversationList(project: ProjectId): ListEndpoint {
  return { ...conversations.list(project), query: { handled: false }, partitions: [] }
}
