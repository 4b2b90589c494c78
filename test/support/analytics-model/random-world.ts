/**
 * Random worlds: the rows of two projects that share conversation ids, around nights of change or the new year, with what
 * a service may send: equal seconds, ids out of order, times that run backwards or are missing, unknown senders, notes,
 * deleted rows, conversations handled before their last message, or handled and reopened while nobody looked.
 */
import { type Dice, rollDice } from './dice.ts'
import { toMinutes } from './local-clock.ts'
import { randomActivity, randomSnapshots } from './random-activity.ts'
import { handleAndReopen, randomConversation } from './random-conversation.ts'
import { type ModelSettings, type OpenHours, type ProjectRows, seconds, toTime } from './raw-rows.ts'

export type World = {
  readonly seed: number
  /** The events are within days of it. */
  readonly around: number
  readonly projects: readonly ProjectRows[]
}

const zones = [
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

export function randomWorld(seed: number): World {
  const dice = rollDice(seed)
  const around = seconds(dice.pick(moments))
  return {
    seed,
    around,
    projects: ['a', 'b'].map((name) => randomProject(`world-${seed}-${name}`, around, dice)),
  }
}

function randomProject(project: string, around: number, dice: Dice): ProjectRows {
  const rows: ProjectRows = {
    project,
    settings: randomSettings(around, dice),
    conversations: [],
    messages: [],
    changes: [],
    snapshots: randomSnapshots(around, dice),
    activity: ['visitor-1', 'visitor-2'].flatMap((visitor) => randomActivity(visitor, around, dice)),
  }
  const count = dice.int(0, 7)
  for (let n = 0; n < count; n++) {
    const conversation = randomConversation(`conversation-${n}`, around, rows, dice)
    handleAndReopen(conversation, around, rows, dice)
  }
  // Their conversation is not mirrored yet.
  for (const message of rows.messages.filter(({ id }) => id === 2).slice(0, 1))
    rows.messages.push({ ...message, conversation_id: 'not-mirrored' })
  return rows
}

function randomSettings(around: number, dice: Dice): ModelSettings {
  const dayAfter = (days: number) => toTime(around + days * 86_400).slice(0, 10)
  const openWeekdays = [1, 2, 3, 4, 5, 6, 7].filter(() => dice.chance(0.7))
  const weekly = Object.fromEntries(openWeekdays.map((weekday) => [weekday, randomHours(dice)]))
  return {
    timeZone: dice.pick(zones),
    weekly: dice.chance(0.15) ? null : weekly,
    holidays: dice.chance(0.5) ? { [dayAfter(0)]: [], [dayAfter(1)]: randomHours(dice) } : {},
    roles: { visitor: 'visitor', agent: 'human', ai: 'ai', ...(dice.chance(0.3) ? { helper: 'ai' as const } : {}) },
    mirroredSince: toTime(around - dice.int(-86_400, 86_400)),
    targets: [
      { name: 'first answer', clock: 'any', which: 'first', seconds: 600, hours: 'business', from: '2024-01-01' },
      { name: 'first answer', clock: 'any', which: 'first', seconds: 60, hours: 'all', from: dayAfter(1) },
      { name: 'human answer', clock: 'human', which: 'first', seconds: 4000, hours: 'all', from: '2024-01-01' },
      { name: 'every answer', clock: 'any', which: 'every', seconds: 61, hours: 'business', from: dayAfter(0) },
    ],
  }
}

/** Never past midnight; sometimes two stretches, sometimes the whole day. */
function randomHours(dice: Dice): OpenHours[] {
  if (dice.chance(0.2)) return [['0:00', '24:00']]
  const clockTime = (hour: number) => `${hour}:${dice.pick(['00', '15', '30', '45'])}`
  const opens = dice.int(0, 20)
  const first: OpenHours = [clockTime(opens), clockTime(dice.int(opens, 22))]
  const second: OpenHours = [first[1], '23:15']
  const stretches = dice.chance(0.3) ? [first, second] : [first]
  return stretches.filter(([from, to]) => toMinutes(from) < toMinutes(to))
}
