/** Who may decide what, and what a batch or a write-back allows: tables of all cases. */
import { describe, expect, test } from 'vitest'
import { writebackStatuses } from '../../../schema/operation-specs.ts'
import type { Role } from '../../../src/config/people.ts'
import {
  missingRole,
  offeredForBatch,
  offeredForWriteback,
  withheldForBatch,
} from '../../../src/console/core/permissions.ts'
import { matchesReply } from '../../../src/console/pages/writeback.ts'
import type { BatchReport } from '../../../src/outbox/core/batches.ts'
import { type DecisionName, decisionNames, decisions } from '../../../src/outbox/core/decisions.ts'
import {
  nextState,
  type StatusCounts,
  type WritebackStatus,
} from '../../../src/outbox/core/state.ts'

const now = Date.UTC(2026, 5, 1, 12)
const at = (seconds: number) => new Date(now + seconds * 1000).toISOString()

describe('a person may', () => {
  const others = { createdBy: 'olga', statuses: ['draft', 'failed'], isByIds: false } as const
  const table: Readonly<Record<Role, readonly DecisionName[]>> = {
    viewer: [],
    operator: ['retry', 'arrived', 'lost'],
    approver: decisionNames,
  }
  test.each(Object.entries(table))('as %s', (role, allowed) => {
    const viewer = { name: 'zoe', role: role as Role }
    expect(decisionNames.filter((name) => missingRole(viewer, name, others) === null)).toEqual(
      allowed,
    )
  })

  const olga = { name: 'olga', role: 'operator' } as const
  const needed = (
    decision: DecisionName,
    statuses: readonly WritebackStatus[],
    over: object = {},
  ) => missingRole(olga, decision, { createdBy: 'olga', statuses, isByIds: true, ...over })

  test('cancel their own drafts as an operator, but nothing that is on its way', () => {
    expect(needed('cancel', ['draft'])).toBeNull()
    expect(needed('cancel', ['draft', 'succeeded'], { isByIds: false })).toBeNull()
    expect(needed('cancel', ['draft', 'queued'])).toBe('approver')
    expect(needed('cancel', ['draft'], { createdBy: 'ann' })).toBe('approver')
    const viewer = { name: 'olga', role: 'viewer' } as const
    expect(
      missingRole(viewer, 'cancel', { createdBy: 'olga', statuses: ['draft'], isByIds: true }),
    ).toBe('operator')
  })

  test('send again as an operator what has failed, but not what was withheld: nobody may have approved it', () => {
    expect(needed('retry', ['failed', 'conflict'])).toBeNull()
    for (const status of ['cancelled', 'expired'] as const) {
      expect(needed('retry', ['failed', status])).toBe('approver')
      // Of a whole batch, only failures are sent again.
      expect(needed('retry', ['failed', status], { isByIds: false })).toBeNull()
    }
  })
})

test('a decision changes exactly the statuses that the state machine allows, and leads where it does', () => {
  for (const { event, about, from, to } of Object.values(decisions)) {
    if (event === null || about !== 'writebacks') continue
    const changed = writebackStatuses.filter((status) => nextState(status, event) === to)
    // What is in flight is resolved by the command line alone.
    expect([event, changed.filter((status) => status !== 'sending').toSorted()]).toEqual([
      event,
      from.toSorted(),
    ])
  }
})

describe('a batch with', () => {
  type Facts = {
    readonly counts: StatusCounts
    readonly stoppedAt?: string
    readonly undoUntil?: string
    readonly approveOwn?: boolean
    readonly revertible?: number
  }
  const offered = ({ counts, stoppedAt, undoUntil, approveOwn = true, revertible }: Facts) => {
    const { succeeded = 0 } = counts
    const batch = {
      id: 'b',
      counts,
      stoppedAt: stoppedAt ?? null,
      createdBy: 'ann',
    } as BatchReport['batch']
    return offeredForBatch({ batch, revertible: revertible ?? succeeded }, undoUntil ?? null, {
      viewer: { name: 'ann', role: 'approver' },
      canDecide: true,
      approveOwn,
    })
  }
  const cases: readonly (readonly [string, Facts, readonly DecisionName[]])[] = [
    ['drafts', { counts: { draft: 2 } }, ['approve', 'cancel']],
    ['drafts of one’s own', { counts: { draft: 2 }, approveOwn: false }, ['cancel']],
    [
      'rows within the grace',
      { counts: { queued: 2 }, undoUntil: at(5) },
      ['undo', 'stop', 'cancel'],
    ],
    ['rows after the grace', { counts: { queued: 2 } }, ['stop', 'cancel']],
    ['rows in flight alone', { counts: { sending: 2 } }, []],
    [
      'what was stopped',
      { counts: { draft: 2, succeeded: 1 }, stoppedAt: at(-9) },
      ['resume', 'cancel', 'revert'],
    ],
    ['flags that arrived', { counts: { succeeded: 2 } }, ['revert']],
    ['replies that arrived', { counts: { succeeded: 2 }, revertible: 0 }, []],
    ['what is taken back', { counts: { succeeded: 2 }, revertible: 0 }, []],
    ['failures', { counts: { failed: 1, conflict: 1 } }, ['retry']],
  ]
  test.each(cases)('%s allows', (_, facts, expected) => {
    expect(offered(facts)).toEqual(expected)
  })
})

test('who may not decide what people come for learns why, and what it takes', () => {
  const batch = {
    id: 'b',
    counts: { draft: 2 },
    stoppedAt: null,
    createdBy: 'ann',
  } as unknown as BatchReport['batch']
  const report = { batch, revertible: 0 }
  const withheld = (
    name: string,
    role: Role,
    over: { canDecide?: boolean; approveOwn?: boolean } = {},
  ) =>
    withheldForBatch(report, null, {
      viewer: { name, role },
      canDecide: true,
      approveOwn: true,
      ...over,
    })
  expect(withheld('bea', 'approver')).toBeNull()
  expect(withheld('vera', 'viewer')).toEqual({ decision: 'approve', why: 'role', role: 'approver' })
  expect(withheld('ann', 'operator')).toEqual({
    decision: 'approve',
    why: 'role',
    role: 'approver',
  })
  expect(withheld('ann', 'approver', { approveOwn: false })).toEqual({
    decision: 'approve',
    why: 'own',
    role: 'approver',
  })
  expect(withheld('bea', 'approver', { canDecide: false })?.why).toBe('only_shown')
})

test('a write-back allows what its status allows', () => {
  const deciding = {
    viewer: { name: 'ann', role: 'approver' },
    canDecide: true,
    approveOwn: true,
  } as const
  const offered = (status: WritebackStatus, undoUntil: string | null = null) =>
    offeredForWriteback({ status, stoppedBy: null, createdBy: null }, undoUntil, deciding)
  expect(offered('draft')).toEqual(['approve', 'cancel'])
  expect([offered('queued'), offered('queued', at(9))]).toEqual([['cancel'], ['undo', 'cancel']])
  expect(offered('uncertain')).toEqual(['arrived', 'lost'])
  for (const status of ['failed', 'conflict', 'cancelled', 'expired'] as const)
    expect(offered(status)).toEqual(['retry'])
  for (const status of ['sending', 'succeeded'] as const) expect(offered(status)).toEqual([])
})

test('a message may be the reply if it has its words and is not older', () => {
  const reply = { content: 'We have found  it.\n', sentAt: at(0) }
  expect(matchesReply({ text: 'We have found it.', at: at(1) }, reply)).toBe(true)
  expect(matchesReply({ text: 'We have found it.', at: at(-60) }, reply)).toBe(true)
  expect(matchesReply({ text: 'We have found it.', at: at(-600) }, reply)).toBe(false)
  expect(matchesReply({ text: 'We have found it', at: at(1) }, reply)).toBe(false)
  expect(matchesReply({ text: null, at: at(1) }, reply)).toBe(false)
})
