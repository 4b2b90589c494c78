/**
 * Conversations, visits and calls around the nights when the clocks change in Berlin, for tests of
 * the views.
 */
import { openMirror } from '../../../src/app/facts.ts'
import type { Warehouse } from '../../../src/app/open.ts'
import type { TestDatabase } from '../../support/databases.ts'
import {
  activity,
  call,
  commit,
  conversation,
  message,
  recording,
  visitor,
} from '../../warehouse/row-fixtures.ts'
import { openTestWarehouse } from '../../warehouse/test-warehouse.ts'
import { readMessages, snapshot } from './facts-fixtures.ts'
import { factsOf, settings } from './facts-settings.ts'

const targets = [
  {
    name: 'first answer',
    clock: 'any',
    which: 'first',
    withinSeconds: 900,
    inBusinessHours: false,
    from: null,
    to: null,
  },
] as const

type Said = readonly [senderType: string, at: string]

/**
 * Who wrote when in each conversation, and when it was handled. The clocks go back at
 * 2025-10-26T01:00:00Z.
 */
const conversations: readonly {
  readonly id: string
  readonly handledAt: string | null
  readonly messages: readonly Said[]
}[] = [
  {
    id: 'by human',
    handledAt: '2025-10-26T02:30:00Z',
    messages: [
      ['visitor', '2025-10-26T00:30:00Z'],
      ['agent', '2025-10-26T00:40:00Z'],
      ['visitor', '2025-10-26T01:30:00Z'],
      ['agent', '2025-10-26T02:10:00Z'],
    ],
  },
  {
    id: 'by both',
    handledAt: null,
    messages: [
      ['visitor', '2025-10-26T01:10:00Z'],
      ['ai', '2025-10-26T01:10:05Z'],
      ['visitor', '2025-10-26T01:12:00Z'],
      ['agent', '2025-10-27T08:00:00Z'],
      ['visitor', '2025-10-27T08:05:00Z'],
    ],
  },
  {
    id: 'by the AI',
    handledAt: '2025-10-28T10:00:00Z',
    messages: [
      ['visitor', '2025-10-28T09:00:00Z'],
      ['ai', '2025-10-28T09:00:04Z'],
    ],
  },
  { id: 'unanswered', handledAt: null, messages: [['visitor', '2025-10-28T23:30:00Z']] },
  { id: 'from an unknown sender', handledAt: null, messages: [['zebra', '2025-10-29T09:00:00Z']] },
  {
    id: 'in spring',
    handledAt: '2025-03-30T02:00:00Z',
    messages: [['visitor', '2025-03-29T23:10:00Z']],
  },
]

export async function openViewsWarehouse({ make }: TestDatabase, personalData = true) {
  const fill = async (warehouse: Warehouse) => {
    await mirrorRows(warehouse)
    await factsOf(warehouse, { ...settings, targets, personalData }).refresh()
  }
  return openTestWarehouse({
    make: () => make({ name: personalData ? 'views' : 'impersonal_views', fill }),
  })
}

async function mirrorRows(warehouse: Warehouse): Promise<void> {
  const mirror = openMirror(warehouse, 'main')
  await mirror.startRun('full', Date.UTC(2025, 9, 27))
  for (const { id, handledAt, messages } of conversations) {
    const [, createdAt = null] = messages[0] ?? []
    const columns = {
      visitor_id: 'v1',
      created_at: createdAt,
      handled_at: handledAt,
      assigned_agent_id: 'agent 1',
    }
    await mirror.commit(commit('conversations', [conversation(id, columns)]))
    const rows = messages.map(([sender_type, created_at], index) =>
      message(id, index + 1, { sender_type, created_at }),
    )
    await mirror.commit(readMessages(id, rows))
  }
  await mirror.commit(
    commit('visitors', [
      visitor('v1', { plan: 'pro' }, { email: 'bo@example.com' }),
      visitor('v2'),
    ]),
  )
  await mirror.commit(
    commit('visitor_activity', [
      {
        ...activity('v1', 'one'),
        columns: {
          visitor_id: 'v1',
          entry_hash: 'one',
          ordinal: 0,
          occurred_at: '2025-10-26T00:10:00Z',
        },
      },
      {
        ...activity('v1', 'two'),
        columns: {
          visitor_id: 'v1',
          entry_hash: 'two',
          ordinal: 0,
          occurred_at: '2025-10-26T00:20:00Z',
        },
      },
    ]),
  )
  await mirror.commit(commit('calls', calls))
  await mirror.commit(commit('call_recordings', [recording('usual', true, '2025-10-27T00:00:00Z')]))
  for (const minute of [0, 5, 10]) await mirror.commit(commit('availability', [snapshot(minute)]))
}

const at = { occurred_at: '2025-10-26T01:30:00Z' }

/**
 * With fields under likely names, under others, and with values that are not what their names say.
 */
const calls = [
  call('usual', at, {
    visitorId: 'v1',
    endedAt: '2025-10-26T03:00:00.5+01:00',
    outcome: 'completed',
    direction: 'inbound',
    agent: { id: 'a7', name: 'Ann' },
  }),
  call('other names', at, { who: { id: 'v2' }, tookSeconds: 61.7, way: { out: true } }),
  call('malformed', at, {
    visitorId: 7,
    endedAt: '2025-02-30T00:00:00Z',
    durationSeconds: 'long',
    status: null,
  }),
  call('hostile', at, { endedAt: 'yesterday', durationSeconds: 1e300 }),
]
