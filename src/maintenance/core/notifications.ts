/**
 * Decides what people are to be notified of, from what was announced and what holds now. Pure. No
 * text has anything that a customer or a person of the team wrote.
 */
import { dayNumber, localDateAt, weekdayOf } from '../../values/days.ts'
import { formatBytes, formatCount } from '../../values/format.ts'
import type { EpochMs, EpochSeconds, Ms } from '../../values/time.ts'

const some = (one: string, many: string) => (count: number) =>
  count === 1 ? one : `${formatCount(count)} ${many}`

const stops: Readonly<Record<string, string>> = {
  held: 'Sending is held: the warehouse went back in time, as after a restored backup.',
  person: 'Sending has been stopped by a person.',
  circuit: 'Replies and notes have stopped: the last ones were uncertain or refused.',
}

/**
 * `words`: for people, and `say` what is announced. `page`: of the console, within the project;
 * null: none.
 */
const notifiedEvents = {
  approval: {
    words: 'a batch waits for approval',
    say: some('A batch waits for approval.', 'batches wait for approval.'),
    page: '/writebacks',
  },
  uncertain: {
    words: 'uncertain replies or notes',
    say: some(
      'A reply or note is uncertain: it may have arrived, and a person decides.',
      'replies or notes are uncertain: they may have arrived, and a person decides.',
    ),
    page: '/writebacks',
  },
  failed: {
    words: 'rows that failed',
    say: some('A row failed or met a conflict.', 'rows failed or met a conflict.'),
    page: '/writebacks',
  },
  sending_stopped: {
    words: 'sending has stopped',
    say: (_: number, subject: string) => stops[subject] ?? 'Sending has stopped.',
    page: '/writebacks',
  },
  key_denied: {
    words: 'the key is denied',
    say: () => 'The service denies the key: nothing is read or sent.',
    page: '',
  },
  gap: {
    words: 'open gaps',
    say: some('A gap has opened: data is missing.', 'gaps are open: data is missing.'),
    page: '/streams',
  },
  disk: {
    words: 'little space on the disk',
    say: (bytes: number) => `The disk is nearly full: ${formatBytes(bytes)} left.`,
    page: null,
  },
  // Its text is a report.
  week: { words: 'the numbers of the week', say: () => '', page: null },
} as const

/** For people. Another version may have stored events that this one does not know. */
export function describeEvent(event: string): string {
  return isNotified(event) ? notifiedEvents[event].words : event.replaceAll('_', ' ')
}

const isNotified = (event: string): event is Condition['event'] =>
  Object.hasOwn(notifiedEvents, event)

/**
 * Holds now. `subject`: tells apart what is announced by itself, such as a batch. `level`: above 0,
 * and higher than before if there is more to say. `count`: for the text.
 */
export type Condition = {
  readonly event: keyof typeof notifiedEvents
  readonly subject: string
  readonly level: number
  readonly count: number
}

/** `level` 0: it no longer holds. `announcedAt` 0: it never was, and what follows it will be. */
export type Announced = Pick<Condition, 'subject' | 'level'> & {
  readonly event: string
  readonly announcedAt: EpochMs
}

/** What comes and goes, or grows, is announced again only after this time. */
export const quietMs: Ms = 3_600_000

/**
 * `news`: to be announced now. `changed`, `ended`: rows to be stored and to be deleted. What was
 * announced stays stored for a while after it ended, so that it is not news again at once.
 */
export function planNotifications(
  announced: readonly Announced[],
  conditions: readonly Condition[],
  now: EpochMs,
) {
  const news: Condition[] = []
  const changed: Announced[] = []
  const ended: Announced[] = []
  const known = new Map(announced.map((row) => [keyOf(row), row]))
  const isQuiet = ({ announcedAt }: Announced) => Math.abs(now - announcedAt) < quietMs
  for (const condition of conditions) {
    const before = known.get(keyOf(condition))
    const isMore = condition.level > (before?.level ?? 0)
    // A worker that was just set up did not see the week before: it waits for its first Monday.
    if (before === undefined && condition.event === 'week')
      changed.push({ ...condition, announcedAt: 0 })
    else if (isMore && (before === undefined || !isQuiet(before))) news.push(condition)
    else if (before !== undefined && condition.level < before.level)
      changed.push({ ...before, level: condition.level })
  }
  const current = new Set(conditions.map(keyOf))
  for (const row of announced.filter((row) => !current.has(keyOf(row))))
    if (!isQuiet(row)) ended.push(row)
    else if (row.level > 0) changed.push({ ...row, level: 0 })
  return { news, changed, ended }
}

export const keyOf = ({ event, subject }: Pick<Announced, 'event' | 'subject'>): string =>
  `${event} ${subject}`

/**
 * Rises with the number and with the time of the newest, so that one that takes the place of
 * another is more, too.
 */
export const levelOf = (count: number, newest: EpochSeconds | null): number =>
  (newest ?? 0) * 100_000 + Math.min(count, 99_999)

/** In bytes; the alert of `deploy/alerts.yml` has the same. */
const lowDiskBytes = 2e9

/** `freeBytes` null: not known. */
export function diskCondition(freeBytes: number | null): readonly Condition[] {
  if (freeBytes === null || freeBytes >= lowDiskBytes) return []
  return [{ event: 'disk', subject: '', level: 1, count: freeBytes }]
}

/** The hour of Monday, in the project's time zone, from which the week before is announced. */
const weekHour = 8

/** `monday`: of the last week that is to be announced, as a day number; its level, too. */
export function weekCondition(
  now: EpochMs,
  timeZone: string,
): Condition & { readonly monday: number } {
  const today = dayNumber(localDateAt(Math.floor(now / 1000) - weekHour * 3600, timeZone))
  const thisMonday = today - (weekdayOf(today) - 1)
  return { event: 'week', subject: '', level: thisMonday, count: 1, monday: thisMonday - 7 }
}

/** A line for each event. `linkTo`: the address of a page of the project. */
export function describeNews(
  news: readonly Condition[],
  project: string,
  linkTo: (page: string) => string,
): readonly string[] {
  return (Object.keys(notifiedEvents) as Condition['event'][]).flatMap((event) => {
    const ofEvent = news.filter((condition) => condition.event === event)
    if (event === 'week' || ofEvent.length === 0) return []
    const { say, page } = notifiedEvents[event]
    const link = page === null ? '' : ` ${linkTo(page)}`
    if (event === 'sending_stopped')
      return ofEvent.map(({ count, subject }) => `${project}: ${say(count, subject)}${link}`)
    const count = event === 'approval' ? ofEvent.length : sumOf(ofEvent)
    return [`${project}: ${say(count, '')}${link}`]
  })
}

const sumOf = (conditions: readonly Condition[]): number =>
  conditions.reduce((sum, { count }) => sum + count, 0)
