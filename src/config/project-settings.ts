/** The settings of one project. A new one needs only a line here or in `analytics-settings.ts`. */
import { type ListStreamName, type StreamName, streamNames } from '../../schema/stream-specs.ts'
import type { ProjectName } from '../values/project.ts'
import { type AnalyticsSettings, analyticsMap, analyticsSettings } from './analytics-settings.ts'
import { budgetSettings } from './budget-settings.ts'
import { columnsField } from './column-settings.ts'
import * as field from './fields.ts'
import { lakeField } from './lake-setting.ts'
import { proxySetting } from './proxy.ts'
import { repliesField, replyAsField } from './reply-settings.ts'
import { scheduleField } from './schedule-field.ts'
import {
  defaultSchedules,
  type Schedule,
  type ScheduleName,
  type Schedules,
  scheduleNames,
} from './schedules.ts'
import { secretField, secretsField } from './secret-fields.ts'
import {
  addressSetting,
  fileSetting,
  mapSetting,
  type Setting,
  type SettingValues,
  secretSetting,
  setting,
  valuesOf,
} from './setting.ts'

const about: Readonly<Record<ScheduleName, string>> = {
  incremental: 'When changed rows are read.',
  reconcile: 'When all rows are read again and compared.',
  analytics: 'When the rollups are read.',
  availability: 'When a snapshot of the availability is taken.',
  audit: 'When a random sample is read again and compared.',
}

/** Each is a setting of its own, so that a project can change one and inherit the others. */
const scheduleSettings = Object.fromEntries(
  scheduleNames.map((name) => [
    name,
    setting(`schedules.${name}`, scheduleField.default(defaultSchedules[name])).about(about[name]),
  ]),
) as Readonly<Record<ScheduleName, Setting<Schedule>>>

const scheduleMap = mapSetting(
  'schedules',
  'write a map, like { incremental: 5m, reconcile: nightly }',
)

export const projectSettings = {
  baseUrl: addressSetting('base_url', field.url).about(
    'The address of the API with its version, like https://api.example.com/v1. https only, ' +
      'except a loopback address.',
  ),
  projectId: setting('project_id', field.projectId).about("The project's id, a UUID."),
  apiKey: secretSetting('api_key', secretField).about(
    'The key. `DESKMIRROR_API_KEY_FILE` names a file that holds it, instead.',
  ),
  /** Null: not configured, so the likely addresses are tried. */
  widgetUrl: addressSetting('widget_url', field.orNull(field.url)).about(
    'The address before `/v1/widget/token`. Without it `token` tries the likely ones.',
  ),
  /** Null: not set, and the variables set none. */
  proxy: proxySetting,
  webhookSecrets: secretSetting('webhook_secret', (read) => secretsField(read).default([])).about(
    'Turns the receiver of webhooks on. Several while one replaces another: a list, or ' +
      'separated by commas in the variable.',
  ),
  ...budgetSettings,
  /** Null: all there is. */
  startDate: setting('start_date', field.orNull(field.startDate)).about(
    'How far back calls, analytics and activity go: `2024-01-01`. Without it: all there is.',
  ),
  timeZone: setting('time_zone', field.timeZone.default('UTC')).about(
    'IANA name: days of the rollups, dates and hours for analysts, cron patterns. A change ' +
      'needs `sync --change-time-zone`.',
  ),
  lookBackMs: setting('look_back', field.duration.default(600_000)).about(
    'How far behind its cursor an incremental sync begins, because rows may appear this late.',
  ),
  auditSample: setting('audit_sample', field.auditSample.default(500)).about(
    'How many conversations, and how many visitors, an audit reads again: 1 to 100000. ' +
      'Each takes two requests or more.',
  ),
  verifyAfterMs: setting('verify_after', field.duration.default(120_000)).about(
    'How long a write without a response waits before it is verified.',
  ),
  resendReplies: setting('resend_replies', field.flag.default(true)).about(
    '`off`: a reply without a response that was not found is never ' +
      'sent again; it becomes `uncertain`.',
  ),
  /** Null: none does. */
  approveOver: setting('approve_over', field.rowCount.default(null)).about(
    'A batch with more rows waits for approval; `0`: every batch, `off`: none.',
  ),
  approveGraceMs: setting('approve_grace', field.grace.default(30_000)).about(
    'How long an approval can be undone before its write-backs leave: at most a day, or `off`.',
  ),
  approveOwn: setting('approve_own', field.flag.default(true)).about(
    '`off`: nobody approves what the same person queued.',
  ),
  search: setting('search', field.flag.default(true)).about(
    '`off`: the words of messages are not indexed for the search of the console.',
  ),
  streams: fileSetting<readonly StreamName[]>(
    'streams',
    field.streams.default([...streamNames]),
  ).about('The streams to mirror.'),
  columns: fileSetting('columns', columnsField.prefault({})).about(
    'What is never stored (`block`), or only as a hash (`hash`): `{ visitors.email: hash, ' +
      'messages.content: block, "*.ip": block }`. A project adds its lines to those for all.',
  ),
  /** Null: nothing is hashed. */
  hashKey: secretSetting('hash_key', (read) => field.orNull(secretField(read))).about(
    'The key of these hashes, of at least 16 characters.',
  ),
  replies: fileSetting('replies', repliesField.prefault({})).about(
    'Texts of replies that are used again, by name: `{ thanks: "Dear {{name}}, …" }`, filled ' +
      'from the mirror with `{{name}}`, `{{email}}`, `{{date}}` (of its first day) and ' +
      '`{{sender}}`. A project adds its own to those for all.',
  ),
  /** Null: not set. */
  replyAs: setting('reply_as', field.orNull(replyAsField)).about(
    'The name that visitors see, where a reply names none. A person of `console` may have ' +
      'another: `reply_as`.',
  ),
  /** Null: nobody is notified. */
  notify: secretSetting('notify', (read) => field.orNull(secretField(read))).about(
    'An https address to which the worker posts `{"text": …}`, as Slack, Teams and Mattermost ' +
      'take it: what needs a person, and the numbers of the week on Monday.',
  ),
  /** Null: none of its own. */
  lake: fileSetting('lake', field.orNull(lakeField)).about(
    'A lake of this project alone; not inherited from above `projects`.',
  ),
  history: fileSetting<readonly ListStreamName[]>('history', field.history.default([])).about(
    'Lists whose replaced rows are kept: some of `conversations`, `visitors`, `calls`. ' +
      'Each change takes 600 to 800 bytes; so does removing a rule of `columns`, for each row.',
  ),
  schema: fileSetting('schema', field.schemaMode.default('discover')).about(
    '`freeze`: undocumented fields that are new stay in `raw` and get no columns.',
  ),
}

export const allProjectSettings: readonly Setting[] = [
  ...Object.values(projectSettings),
  scheduleMap,
  ...Object.values(scheduleSettings),
  analyticsMap,
  ...Object.values(analyticsSettings),
]

/** Maps whose lines are settings: `hours` in `analytics` is the setting `analytics.hours`. */
export const settingMaps: readonly string[] = [scheduleMap.name, analyticsMap.name]

export type ProjectSettings = SettingValues<typeof projectSettings> & {
  /** Its name in the YAML file, or `default`. */
  readonly name: ProjectName
  /** Cron patterns use the project's time zone. That of a stream not mirrored does nothing. */
  readonly schedules: Schedules
  readonly analytics: AnalyticsSettings
}

/** `checked`: by the names in the file. */
export function toProject(
  name: ProjectName,
  checked: Readonly<Record<string, unknown>>,
): ProjectSettings {
  return {
    name,
    ...valuesOf(projectSettings, checked),
    schedules: valuesOf(scheduleSettings, checked),
    analytics: valuesOf(analyticsSettings, checked),
  }
}
