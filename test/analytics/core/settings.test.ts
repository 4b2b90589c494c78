/**
 * What settings mean for the facts: roles of senders, targets, and when facts have to be derived
 * anew.
 */
import { describe, expect, test } from 'vitest'
import { slaRows } from '../../../src/analytics/core/calendar.ts'
import { createRoleOfSender, senderTypeRows } from '../../../src/analytics/core/sender-roles.ts'
import { fingerprintsOf } from '../../../src/analytics/sql/facts-state.ts'
import type { AnalyticsSettings, Target } from '../../../src/config/analytics-settings.ts'

describe('the role of a sender is guessed from the name of its type', () => {
  const names: Readonly<Record<string, readonly (string | null)[]>> = {
    visitor: [
      'visitor',
      'VISITOR',
      'customer',
      'user',
      'end_user',
      'EndUser',
      'ENDUSER',
      'contact',
      'lead',
      'client_contact',
    ],
    human: [
      ...[
        'agent',
        'human',
        'operator',
        'admin',
        'teammate',
        'human_agent',
        'HUMANAGENT',
        'support-agent',
      ],
      ...['customer_support_agent', 'customer support'],
    ],
    ai: [
      'ai',
      'AI',
      'bot',
      'assistant',
      'ai_agent',
      'AIAgent',
      'aiAgent',
      'chat-bot',
      'ChatBot',
      'support bot',
      'virtual_agent',
    ],
    other: ['system', 'email', 'aircraft', 'robin', '', '__proto__', 'constructor', null],
  }
  const cases = Object.entries(names).flatMap(([role, types]) =>
    types.map((type) => [type, role] as const),
  )
  test.each(cases)('%s → %s', (type, role) => expect(createRoleOfSender({})(type)).toBe(role))
})

test('the configured roles win over the guesses, however they are written', () => {
  const roleOf = createRoleOfSender({ 'Support-Team': 'ai', system: 'human', bot: 'other' })
  const types = ['support_team', 'supportTeam', 'SYSTEM', 'bot', 'agent']
  expect(types.map(roleOf)).toEqual(['ai', 'ai', 'human', 'other', 'human'])
  expect(senderTypeRows(['system', 'stranger'], { system: 'human' })).toEqual([
    { sender_type: 'system', role: 'human' },
    { sender_type: 'stranger', role: 'other' },
  ])
})

describe('targets', () => {
  const target: Target = {
    name: 'first',
    clock: 'any',
    which: 'first',
    withinSeconds: 900,
    inBusinessHours: true,
    from: null,
    to: null,
  }
  const spans = (...changes: Partial<Target>[]) =>
    slaRows(changes.map((change) => ({ ...target, ...change }))).map(
      ({ name, target_seconds, from_date, to_date }) =>
        `${name} ${target_seconds} ${from_date} ${to_date}`,
    )

  test('become rows', () => {
    expect(slaRows([target])).toEqual([
      {
        name: 'first',
        clock: 'any',
        which: 'first',
        target_seconds: 900,
        in_business: true,
        from_date: '1970-01-01',
        to_date: null,
      },
    ])
  })

  test('of one name hold one after the other, so that a change alters nothing of the past', () => {
    expect(
      spans(
        { from: '2026-01-01', withinSeconds: 300 },
        { withinSeconds: 900 },
        { from: '2025-01-01', withinSeconds: 600 },
        { name: 'every', from: '2025-06-01' },
      ),
    ).toEqual([
      'first 300 2026-01-01 null',
      'first 900 1970-01-01 2025-01-01',
      'first 600 2025-01-01 2026-01-01',
      'every 900 2025-06-01 null',
    ])
  })

  test('end on their own day, if that is earlier', () => {
    expect(spans({ to: '2024-01-01' }, { from: '2025-01-01', to: '2027-01-01' })).toEqual([
      'first 900 1970-01-01 2024-01-01',
      'first 900 2025-01-01 2027-01-01',
    ])
  })
})

describe('facts are derived anew', () => {
  type Settings = AnalyticsSettings & { readonly timeZone: string }
  const factsFingerprint = ({ timeZone, ...analytics }: Settings, version?: number) =>
    fingerprintsOf({ timeZone, analytics }, version).facts
  const settings: Settings = {
    timeZone: 'Europe/Berlin',
    visitGapSeconds: 1800,
    targets: [],
    personalData: true,
    calls: {
      visitor: null,
      ended: null,
      outcome: null,
      duration: null,
      direction: null,
      agent: null,
    },
    roles: { bot: 'ai', operator: 'human' },
    hours: { 1: [{ opens: 540, closes: 1020 }] },
    holidays: {},
    availabilityHoldSeconds: 600,
    fields: { activityKind: null, activityPage: null },
  }
  const fingerprint = factsFingerprint(settings)

  test('not if the same settings are written in another order', () => {
    expect(factsFingerprint({ ...settings, roles: { operator: 'human', bot: 'ai' } })).toBe(
      fingerprint,
    )
    expect(fingerprint).toMatch(/^[0-9a-f]{64}$/)
  })

  const changes: Readonly<Record<string, Partial<Settings>>> = {
    'the time zone changes': { timeZone: 'Europe/Paris' },
    'a role changes': { roles: { bot: 'ai' } },
    'the hours change': { hours: null },
    'a holiday is added': { holidays: { '2026-01-01': [] } },
    'the gap of visits changes': { visitGapSeconds: 60 },
    'a snapshot holds longer': { availabilityHoldSeconds: 900 },
    'the name of a field is known': { fields: { activityKind: null, activityPage: 'url' } },
  }
  test.each(Object.entries(changes))('if %s', (_, change) => {
    expect(factsFingerprint({ ...settings, ...change })).not.toBe(fingerprint)
  })

  test('if a newer version of deskmirror derives them in another way', () => {
    expect(factsFingerprint(settings, 2)).not.toBe(factsFingerprint(settings, 1))
  })
})
