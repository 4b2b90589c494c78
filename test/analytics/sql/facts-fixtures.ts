/**
 * A warehouse with the facts of its project `main`: rows to derive them from, and all rows of all
 * tables for analysts.
 */

import { analyticsTables } from '../../../schema/analytics-tables.ts'
import type { MirrorRow } from '../../../schema/row.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import type { ChildReadResult } from '../../../src/mirror/core/mirror.ts'
import type { Mirror } from '../../../src/mirror/sql/mirror.ts'
import type { TestDatabase } from '../../support/databases.ts'
import { stored } from '../../support/stored-items.ts'
import {
  activity,
  commit,
  conversation,
  message,
  timeAt,
  visitor,
} from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { factsOf } from './facts-settings.ts'

export async function openFactsWarehouse(db: TestDatabase) {
  const opened = await openTestWarehouse(db)
  return {
    ...opened,
    facts: factsOf(opened.warehouse),
    readFacts: () => readFacts(opened.warehouse),
  }
}

/** What says how far facts are derived, and not what they say. */
const bookkeeping = ['facts_due', 'facts_state']

/** Every row of every table for analysts, in a fixed order. */
export async function readFacts(warehouse: Warehouse): Promise<Record<string, readonly unknown[]>> {
  const tables = Object.entries(analyticsTables).filter(
    ([name]) => !bookkeeping.includes(name) && !name.startsWith('_'),
  )
  const read = tables.map(async ([name, { key }]) => {
    return [
      name,
      await warehouse.query(`select * from ${name} order by ${key.join(', ')}`),
    ] as const
  })
  return Object.fromEntries(await Promise.all(read))
}

/** What a refresh derived, and what a rebuild derives from the same rows. */
export async function refreshAndRebuild(
  warehouse: Warehouse,
  facts: Readonly<Record<'refresh' | 'rebuild', () => Promise<unknown>>>,
) {
  await facts.refresh()
  const refreshed = await readFacts(warehouse)
  await facts.rebuild()
  return { refreshed, rebuilt: await readFacts(warehouse) }
}

/** An agent's snapshot, each a minute after the one before. */
export const snapshot = (minute: number, agents = 2): MirrorRow => {
  const columns = { read_at: timeAt(minute * 60), available: agents > 0, agents_online: agents }
  return { columns, extraFields: new Map(), item: stored(columns) }
}

/** The messages of a conversation as they are read: with the result of the read. */
export const readMessages = (
  id: string,
  rows: readonly MirrorRow[],
  completeness: ChildReadResult['completeness'] = 'complete',
) =>
  commit('messages', rows, {
    childRead: {
      stream: 'messages',
      parentId: id,
      requestedVersion: 1,
      cursor: null,
      completeness,
      dueAt: null,
    },
  })

const dialogue = (id: string) => [
  message(id, 1, { sender_type: 'visitor', created_at: timeAt(60), sender_display_name: 'Bo' }),
  message(id, 2, { sender_type: 'ai', created_at: timeAt(90), sender_display_name: 'Assistant' }),
  message(id, 3, { sender_type: 'visitor', created_at: timeAt(120), sender_display_name: 'Bo' }),
  message(id, 4, { sender_type: 'agent', created_at: timeAt(3720), sender_display_name: 'Ann' }),
]

/**
 * Conversations with four messages each, two visitors with activity, and three snapshots of the
 * availability.
 */
export async function mirrorSomeRows(
  mirror: Mirror,
  ids: readonly string[] = ['c1', 'c2', 'c3'],
): Promise<void> {
  await mirror.startRun('full', Date.UTC(2026, 0, 1))
  await mirror.commit(
    commit(
      'conversations',
      ids.map((id) => conversation(id)),
    ),
  )
  for (const id of ids) await mirror.commit(readMessages(id, dialogue(id)))
  await mirror.commit(commit('visitors', [visitor('v1'), visitor('v2')]))
  for (const id of ['v1', 'v2'])
    await mirror.commit(commit('visitor_activity', [activity(id, 'one'), activity(id, 'two')]))
  for (const minute of [0, 5, 58]) await mirror.commit(commit('availability', [snapshot(minute)]))
}
