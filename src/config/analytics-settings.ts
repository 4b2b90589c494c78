/** What a project configures about its analytics: what the answers for analysts are counted by. */
import { z } from 'zod'
import { parseDuration } from '../values/time.ts'
import { date, holidays, weeklyHours } from './business-hours.ts'
import { flag, orNull, parsedField } from './fields.ts'
import { fileSetting, mapSetting, type SettingValues } from './setting.ts'

export type AnalyticsSettings = SettingValues<typeof analyticsSettings>

/** Of an utterance. `other`: its sender type has no known role. */
export type SenderRole = z.output<typeof role>
/** The roles whose messages make up a conversation. */
export type SpeakerRole = Exclude<SenderRole, 'other'>

/** An aim for waits, shown with how often it was met. */
export type Target = z.output<typeof target>

const seconds = parsedField('write a duration of at least 1s, like 30m', (text) => {
  const ms = parseDuration(text)
  return ms !== undefined && ms >= 1000 && ms % 1000 === 0 ? ms / 1000 : undefined
})

const role = z.enum(['visitor', 'human', 'ai', 'other'], {
  error: 'write visitor, human, ai or other',
})
const roles = z.record(z.string(), role, {
  error: 'write a map of sender types and their roles, like { bot: ai, operator: human }',
})

const target = z
  .strictObject(
    {
      name: z.string({ error: 'name the target' }).trim().min(1, 'name the target'),
      /** Ends with the next answer by anyone, or with the next human one. */
      clock: z.enum(['any', 'human'], { error: 'write any or human' }).default('any'),
      /** The first wait of a conversation, even if handled without an answer; or every one. */
      which: z.enum(['first', 'every'], { error: 'write first or every' }).default('first'),
      within: seconds,
      hours: z.enum(['all', 'business'], { error: 'write all or business' }).default('all'),
      /** For waits that began from this date on; null = for all. */
      from: orNull(date),
      /** … and before this date; null = until another target of the same name begins. */
      to: orNull(date),
    },
    { error: 'write a target, like { name: first answer, within: 15m }' },
  )
  .refine(({ from, to }) => from === null || to === null || from < to, {
    error: 'must end after it begins',
    path: ['to'],
  })
  .transform(({ within: withinSeconds, hours, ...rest }) => {
    return { ...rest, withinSeconds, inBusinessHours: hours === 'business' }
  })

/** Several of one name follow each other. */
const targets = z
  .array(target, { error: 'write a list of targets, like [{ name: first answer, within: 15m }]' })
  .superRefine((list, context) => {
    for (const [index, { name, from }] of list.entries()) {
      const isRepeated = list
        .slice(0, index)
        .some((other) => other.name === name && other.from === from)
      const message = 'has the name of another target: give it another one, or another from'
      if (isRepeated) context.addIssue({ code: 'custom', message, path: [index] })
    }
  })
  .readonly()

const fieldPath = parsedField('write the name of a field, or a path like visitor.id', (text) =>
  /^[\w-]+(\.[\w-]+)*$/.test(text) ? text : undefined,
)
const optionalPath = fieldPath.nullish().transform((path) => path ?? null)
/** Paths of undocumented fields in the service's rows, like `visitor.id`; null = not known. */
const paths = <Name extends string>(...names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, optionalPath])) as Record<Name, typeof optionalPath>

const callFields = z.strictObject(
  paths('visitor', 'ended', 'outcome', 'duration', 'direction', 'agent'),
  {
    error: 'write a map, like { visitor: visitorId, duration: durationSeconds }',
  },
)
const activityFields = z
  .strictObject(paths('activity_kind', 'activity_page'), {
    error: 'write a map, like { activity_kind: type, activity_page: url }',
  })
  .transform(({ activity_kind, activity_page }) => ({
    activityKind: activity_kind,
    activityPage: activity_page,
  }))

/** Each is a setting of its own, so that a project can change one and inherit the others. */
export const analyticsSettings = {
  /** By sender type, in place of the guesses. */
  roles: fileSetting('analytics.roles', roles.default({})).about(
    'Who a `sender_type` is: `visitor`, `human`, `ai` or `other` (counts for nobody). ' +
      'Likely names need no line; `dim_sender_type` shows what holds.',
  ),
  /** Null: round the clock. */
  hours: fileSetting('analytics.hours', orNull(weeklyHours)).about(
    'Business hours: `{ mon-fri: [9:00-12:30, 13:00-18:00] }`. A day that no line names is ' +
      'closed. Without it: round the clock.',
  ),
  holidays: fileSetting('analytics.holidays', holidays.default({})).about(
    'The hours of single dates: `{ 2025-12-24: 9:00-12:00, 2025-12-25: closed }`.',
  ),
  visitGapSeconds: fileSetting('analytics.visit_gap', seconds.default(1800)).about(
    'Activity after a longer pause is another visit.',
  ),
  availabilityHoldSeconds: fileSetting('analytics.availability_holds', seconds.default(600)).about(
    'How long a snapshot of the availability holds at most: longer ' +
      'than the interval of its schedule.',
  ),
  targets: fileSetting('analytics.targets', targets.default([])).about(
    'How fast an answer should be: `name`, `within`, and where the default does not fit ' +
      '`clock` (`any` or `human`), `which` (`first` or `every` wait), `hours` (`all` or ' +
      '`business`), `from`, `to`. A new target of the same name with a later `from` leaves ' +
      'the past as it was.',
  ),
  calls: fileSetting('analytics.calls', callFields.prefault({})).about(
    'The names of undocumented fields of calls: `visitor`, `ended`, `outcome`, `duration` ' +
      '(seconds), `direction`, `agent`. `visitor.id` is a field within a field.',
  ),
  fields: fileSetting(
    'analytics.fields',
    activityFields.default({ activityKind: null, activityPage: null }),
  ).about('The same for entries of activity: `activity_kind`, `activity_page`.'),
  personalData: fileSetting('analytics.personal_data', flag.default(true)).about(
    '`off`: the objects for analysts leave out names and addresses of visitors, the pages ' +
      'of their visits, and undocumented fields.',
  ),
}

export const analyticsMap = mapSetting(
  'analytics',
  'write a map, like { hours: { mon-fri: 9:00-17:00 } }',
)
