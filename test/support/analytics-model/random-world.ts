/**
 * Random worlds: the rows of two projects that share conversation ids, around nights of change or
 * the new year, with what a service may send: equal seconds, ids out of order, times that run
 * backwards or are missing, unknown senders, notes, deleted rows, conversations handled before
 * their last message, or handled and reopened between two looks.
 */

import { toMinutes } from './local-clock.ts'
import { randomActivity, randomSnapshots } from './random-activity.ts'
import { type RandomChoices, seededChoices } from './random-choices.ts'
import { handleAndReopen, randomConversation } from './random-conversation.ts'
import {
  type ModelSettings,
  type OpenHours,
  type ProjectRows,
  seconds,
  toTime,
} from './raw-rows.ts'

export type ModelWorld = {
  readonly seed: number
  /** The events are within days of it. */
  readonly around: number
  readonly projects: readonly ProjectRows[]
}

export const zones = [
  'UTC',
  'Europe/Berlin',
  'America/New_York',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Pacific/Apia',
] as const

/** Before changes to and from summer time in the north and the south, and before a new year. */
const moments = [
  '2025-03-29T12:00:00Z',
  '2025-10-25T12:00:00Z',
  '2025-11-01T18:00:00Z',
  '2025-06-10T00:00:00Z',
  '2024-12-31T18:00:00Z',
  '2025-04-05T10:00:00Z',
] as const

export function randomWorld(seed: number): ModelWorld {
  const random = seededChoices(seed)
  const around = seconds(random.pick(moments))
  return {
    seed,
    around,
    projects: ['a', 'b'].map((name) => randomProject(`world-${seed}-${name}`, around, random)),
  }
}

function randomProject(project: string, around: number, random: RandomChoices): ProjectRows {
  const rows: ProjectRows = {
    project,
    settings: randomSettings(around, random),
    conversations: [],
    messages: [],
    changes: [],
    snapshots: randomSnapshots(around, random),
    activity: ['visitor-1', 'visitor-2'].flatMap((visitor) =>
      randomActivity(visitor, around, random),
    ),
  }
  const count = random.int(0, 7)
  for (let n = 0; n < count; n++) {
    const conversation = randomConversation(`conversation-${n}`, around, rows, random)
    handleAndReopen(conversation, around, rows, random)
  }
  // Their conversation is not mirrored yet.
  for (const message of rows.messages.filter(({ id }) => id === 2).slice(0, 1))
    rows.messages.push({ ...message, conversation_id: 'not-mirrored' })
  return rows
}

function randomSettings(around: number, random: RandomChoices): ModelSettings {
  const dayAfter = (days: number) => toTime(around + days * 86_400).slice(0, 10)
  const openWeekdays = [1, 2, 3, 4, 5, 6, 7].filter(() => random.chance(0.7))
  const weekly = Object.fromEntries(openWeekdays.map((weekday) => [weekday, randomHours(random)]))
  return {
    timeZone: random.pick(zones),
    weekly: random.chance(0.15) ? null : weekly,
    holidays: random.chance(0.5) ? { [dayAfter(0)]: [], [dayAfter(1)]: randomHours(random) } : {},
    roles: {
      visitor: 'visitor',
      agent: 'human',
      ai: 'ai',
      ...(random.chance(0.3) ? { helper: 'ai' as const } : {}),
    },
    mirroredSince: toTime(around - random.int(-86_400, 86_400)),
    targets: [
      {
        name: 'first answer',
        clock: 'any',
        which: 'first',
        seconds: 600,
        hours: 'business',
        from: '2024-01-01',
      },
      {
        name: 'first answer',
        clock: 'any',
        which: 'first',
        seconds: 60,
        hours: 'all',
        from: dayAfter(1),
      },
      {
        name: 'human answer',
        clock: 'human',
        which: 'first',
        seconds: 4000,
        hours: 'all',
        from: '2024-01-01',
      },
      {
        name: 'every answer',
        clock: 'any',
        which: 'every',
        seconds: 61,
        hours: 'business',
        from: dayAfter(0),
      },
    ],
  }
}

/** Never past midnight; sometimes two stretches, sometimes the whole day. */
function randomHours(random: RandomChoices): OpenHours[] {
  if (random.chance(0.2)) return [['0:00', '24:00']]
  const clockTime = (hour: number) => `${hour}:${random.pick(['00', '15', '30', '45'])}`
  const opens = random.int(0, 20)
  const first: OpenHours = [clockTime(opens), clockTime(random.int(opens, 22))]
  const second: OpenHours = [first[1], '23:15']
  const stretches = random.chance(0.3) ? [first, second] : [first]
  return stretches.filter(([from, to]) => toMinutes(from) < toMinutes(to))
}
