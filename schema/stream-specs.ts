/** All streams: how each is read, which table has its rows, and what else depends on the stream. */

/** What facts belong to: all of its facts are derived together. */
export const factKinds = ['conversation', 'visitor', 'availability_hour'] as const
export type FactKind = (typeof factKinds)[number]

type Spec<Kind extends string> = {
  readonly kind: Kind
  readonly table: string
  /** The column that says when a row last happened; null = only an undocumented field says so. */
  readonly timeColumn: string | null
  /**
   * Which facts are derived from its rows: those of what the first part of a row's key identifies.
   */
  readonly facts: FactKind | null
  /** A sample is drawn, or the rows of drawn parents are read: one such child stream of each. */
  readonly audited: 'drawn' | 'with parents' | null
}
/** Of a stream whose rows are read in pages. Both columns have an index. */
type PagedSpec<Kind extends string> = Spec<Kind> & {
  /** The column that says when a row began; null as above. */
  readonly startColumn: string | null
  /** DESKMIRROR_START_DATE limits it. Rollups do not need this: missing days are read anyway. */
  readonly hasStartDate: boolean
}
type StreamSpec =
  | (PagedSpec<'list'> & {
      /** Its name in the singular, as columns of its ids begin. */
      readonly singular: string
      /** The ids of its rows are documented as UUIDs. */
      readonly hasUuids: boolean
      /** An older time never replaces a later one; null: it does not move with each change. */
      readonly newerBy: string | null
      /**
       * Documented fields that move without a change of the row itself. Copies that differ in these
       * and in moving times only (see `row-versions.ts`) are one version.
       */
      readonly movingFields: readonly string[]
    })
  | (PagedSpec<'child-list'> & { readonly parent: string })
  | (Spec<'child-object'> & { readonly parent: string })
  | Spec<'daily' | 'snapshot'>

/** In the order of reports. `parent`: the list stream to whose rows the stream's rows belong. */
export const streamSpecs = {
  conversations: {
    kind: 'list',
    table: 'conversations',
    timeColumn: 'last_message_at',
    startColumn: 'created_at',
    hasStartDate: false,
    singular: 'conversation',
    hasUuids: true,
    newerBy: 'last_message_at',
    // What the last message is, its own row says.
    movingFields: ['lastMessageAt', 'lastMessageSenderType'],
    facts: 'conversation',
    audited: 'drawn',
  },
  messages: {
    kind: 'child-list',
    parent: 'conversations',
    table: 'messages',
    timeColumn: 'created_at',
    startColumn: 'created_at',
    hasStartDate: false,
    facts: 'conversation',
    audited: 'with parents',
  },
  visitors: {
    kind: 'list',
    table: 'visitors',
    timeColumn: null,
    startColumn: null,
    hasStartDate: false,
    singular: 'visitor',
    hasUuids: true,
    newerBy: null,
    movingFields: [],
    facts: null,
    audited: 'drawn',
  },
  visitor_activity: {
    kind: 'child-list',
    parent: 'visitors',
    table: 'visitor_activity',
    timeColumn: 'occurred_at',
    startColumn: 'occurred_at',
    hasStartDate: true,
    facts: 'visitor',
    audited: 'with parents',
  },
  calls: {
    kind: 'list',
    table: 'calls',
    timeColumn: 'occurred_at',
    startColumn: 'occurred_at',
    hasStartDate: true,
    singular: 'call',
    hasUuids: false,
    newerBy: null,
    movingFields: [],
    facts: null,
    audited: null,
  },
  call_recordings: {
    kind: 'child-object',
    parent: 'calls',
    table: 'call_recordings',
    timeColumn: 'read_at',
    facts: null,
    audited: null,
  },
  analytics: {
    kind: 'daily',
    table: 'analytics_rollups',
    timeColumn: 'window_from',
    facts: null,
    audited: null,
  },
  availability: {
    kind: 'snapshot',
    table: 'availability_snapshots',
    timeColumn: 'read_at',
    facts: 'availability_hour',
    audited: null,
  },
} as const satisfies Readonly<Record<string, StreamSpec>>

export type StreamName = keyof typeof streamSpecs
export type StreamKind = StreamSpec['kind']
export type StreamNameOf<Kind extends StreamKind> = {
  [N in StreamName]: (typeof streamSpecs)[N]['kind'] extends Kind ? N : never
}[StreamName]
export type ListStreamName = StreamNameOf<'list'>
export type ChildStreamName = StreamNameOf<'child-list' | 'child-object'>

export const streamNames = Object.keys(streamSpecs) as readonly StreamName[]
export const isListStream = (stream: StreamName): stream is ListStreamName =>
  streamSpecs[stream].kind === 'list'

export const isChildList = (stream: StreamName): stream is StreamNameOf<'child-list'> =>
  streamSpecs[stream].kind === 'child-list'

/** Its rows are read one parent at a time. */
export const isChildStream = (stream: StreamName): stream is ChildStreamName =>
  'parent' in streamSpecs[stream]

export const isPagedStream = (stream: StreamName): stream is StreamNameOf<'list' | 'child-list'> =>
  'startColumn' in streamSpecs[stream]
export const listStreamNames = streamNames.filter(isListStream)
export const childStreamNames = streamNames.filter(isChildStream)

/** When it began, which does not change later; null = rows of no day. */
export function dayColumn(stream: StreamName): string | null {
  if (isPagedStream(stream)) return streamSpecs[stream].startColumn
  // The only time of a child object is when it was requested.
  return isChildStream(stream) ? null : streamSpecs[stream].timeColumn
}

export const hasStartDate = (stream: StreamName): boolean =>
  isPagedStream(stream) && streamSpecs[stream].hasStartDate

export function childStreamsOf(parent: StreamName): readonly ChildStreamName[] {
  return childStreamNames.filter((child) => streamSpecs[child].parent === parent)
}
