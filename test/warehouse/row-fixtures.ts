/**
 * Rows as the streams produce them: a test names the columns that it is about, the rest has
 * defaults.
 */

import type { MirrorRow } from '../../schema/row.ts'
import { toRow } from '../../src/mirror/core/item-fields.ts'
import type { MirrorCommit } from '../../src/mirror/core/mirror.ts'
import type { Json, Scalar } from '../../src/values/json.ts'
import { stored } from '../support/stored-items.ts'

export const timeAt = (second: number): string =>
  new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString().replace('.000', '')

/** As the service makes ids of conversations and visitors. */
export const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`

type Columns = Readonly<Record<string, Scalar>>

function row(columns: Columns, extra: Readonly<Record<string, Json>> = {}): MirrorRow {
  return {
    columns,
    extraFields: toRow(extra, {}).extraFields,
    item: stored({ ...columns, ...extra }),
  }
}

export const conversation = (id: string, columns: Columns = {}, extra = {}): MirrorRow =>
  row(
    {
      id,
      visitor_id: `visitor of ${id}`,
      status: 'open',
      created_at: timeAt(0),
      last_message_at: timeAt(1),
      last_message_sender_type: 'visitor',
      handled_at: null,
      waiting_since: null,
      assigned_agent_id: null,
      origin: 'visitor_initiated',
      ...columns,
    },
    extra,
  )

export const message = (conversation_id: string, id: Scalar, columns: Columns = {}): MirrorRow =>
  row({
    conversation_id,
    id,
    sender_type: 'agent',
    kind: 'utterance',
    content: `message ${id}`,
    sender_display_name: 'Ann',
    created_at: timeAt(2),
    ...columns,
  })

export const visitor = (
  id: string,
  extra: Readonly<Record<string, Json>> = {},
  columns: Columns = {},
): MirrorRow => row({ id, name: 'Bo', email: null, ...columns }, extra)

export const activity = (
  visitor_id: string,
  entry_hash: string,
  ordinal = 0,
  extra = {},
): MirrorRow => row({ visitor_id, entry_hash, ordinal, occurred_at: timeAt(3) }, extra)

export const call = (id: string, columns: Columns = {}, extra = {}): MirrorRow =>
  row({ id, occurred_at: timeAt(4), ...columns }, extra)

/** `read_at` is not part of a recording's `raw`. */
export const recording = (call_id: string, has_recording: boolean, read_at: string): MirrorRow => ({
  columns: { call_id, has_recording, read_at },
  extraFields: new Map(),
  item: stored({ hasRecording: has_recording }),
})

export const rollup = (window_from: string, window_to: string, figures: Json): MirrorRow => ({
  columns: { window_from, window_to, day: window_from.slice(0, 10), time_zone: 'UTC' },
  extraFields: new Map(),
  item: stored(figures),
})

let lastAskedAt = Date.UTC(2026, 5, 1)

/** A commit with a later request time than all commits before it. */
export type StreamRows = Readonly<Partial<Record<MirrorCommit['stream'], readonly MirrorRow[]>>>

/** All rows of each stream at once, in this order. */
export async function commitRows(
  mirror: { readonly commit: (rows: MirrorCommit) => Promise<unknown> },
  rows: StreamRows,
): Promise<void> {
  for (const [stream, own = []] of Object.entries(rows))
    await mirror.commit(commit(stream as MirrorCommit['stream'], own))
}

export const commit = (
  stream: MirrorCommit['stream'],
  rows: readonly MirrorRow<Json>[],
  rest: Partial<MirrorCommit> = {},
): MirrorCommit => ({
  stream,
  rows: rows.map((own) => ({ ...own, item: stored(own.item) })),
  requestedAt: ++lastAskedAt,
  ...rest,
})
