/** `deskmirror status`: how fresh and how complete the mirror is. Reads only the warehouse. */
import { Option } from 'commander'
import { describeColumns } from '../config/column-settings.ts'
import type { ProjectConfig } from '../config/config.ts'
import { lakesOf } from '../config/lakes.ts'
import { type LakeStatus, readLakeStatus } from '../export/lake/manifest.ts'
import { failedStream } from '../maintenance/core/job-failure.ts'
import { describeEvent } from '../maintenance/core/notifications.ts'
import type { JobKind, StatusReport } from '../maintenance/maintenance.ts'
import { describeFailure } from '../service/core/api-failure.ts'
import { formatAge, formatCount, formatDuration, pluralize, toPrintable } from '../values/format.ts'
import { clockToleranceSeconds, type EpochMs } from '../values/time.ts'
import type { CommandHint } from '../values/user-error.ts'
import { defineCommand, runOverMirror } from './command.ts'
import { type CommonOptions, jsonOption, projectOption } from './options.ts'
import { renderBlockedLanes, renderWithoutProject } from './render/outbox.ts'
import { auditRows, renderGaps, renderStreamReasons } from './render/streams.ts'
import { alignColumns, linesOf } from './render/table.ts'

type Options = CommonOptions & { readonly verbose?: true }

const help = `
Reads only the warehouse: needs no key and makes no request.

Examples:
  $ deskmirror status
  $ deskmirror status --verbose     also the evidence behind each learned behaviour of the service
  $ deskmirror status --json | jq '.projects[].streams[] | {stream, rows, due}'

Exit code: 0 whatever the state of the mirror is · 1 or 2 if it cannot be read`

export const command = defineCommand<Options>({
  name: 'status',
  description:
    'Shows how fresh and how complete the mirror is, what is pending, and how long that takes.',
  options: [
    projectOption(),
    new Option('--verbose', 'show the evidence behind each behaviour of the service'),
    jsonOption(),
  ],
  help,
  run: async (context, options) => {
    const status = await runOverMirror(
      context,
      options,
      async ({ config, project }) => {
        const { readStatus } = await context.load(() => import('../app/status.ts'))
        const { readOnly, columns, history } = project
        const lakes = lakesOf(config, project).map(readLakeStatus)
        return { ...(await readStatus(config, project)), readOnly, columns, history, lakes }
      },
      (report, { config, hint }) => {
        const isOnlyProject = config.projects.length === 1
        return {
          lines: renderStatus(report, context.now(), options.verbose === true, hint, isOnlyProject),
          exit: 0,
        }
      },
    )
    const { versions, text } = await context.readVersion()
    const lines = status.lines.length === 0 ? [] : [...status.lines, `deskmirror ${text}`]
    return { ...status, document: { versions, ...Object(status.document) }, lines }
  },
})

/** The stored failure text of a stream that was interrupted; it has not failed. */
const interruptedText = describeFailure({ kind: 'aborted' })

/** `readOnly`: writing to the service is switched off. `columns`, `history`: as configured. */
type ProjectStatus = StatusReport &
  Pick<ProjectConfig, 'readOnly' | 'columns' | 'history'> & {
    readonly lakes: readonly LakeStatus[]
  }

/** `isOnlyProject`: the configuration has no other project. */
function renderStatus(
  report: ProjectStatus,
  now: EpochMs,
  verbose: boolean,
  hint: CommandHint,
  isOnlyProject: boolean,
): readonly string[] {
  const header = ['', 'rows', 'deleted', 'pending', 'newest', 'last complete read', '']
  const rows = report.streams.map((stream) => [
    stream.stream,
    formatCount(stream.rows),
    formatCount(stream.deleted),
    formatCount(stream.due),
    stream.newest ?? '–',
    formatAge(stream.syncedAt, now),
    streamState(stream, now),
  ])
  return [
    ...alignColumns([
      ...factRows(report, now, hint),
      ...writebackRows(report, hint, isOnlyProject),
    ]),
    ...alignColumns([header, ...rows]),
    ...listed(
      'rows were counted',
      // Those whose number is a remembered one.
      report.streams.map(
        ({ stream, countedAt }) => countedAt && `${stream} ${formatAge(countedAt, now)}`,
      ),
    ),
    ...listed(
      'dated in the future, and read again until that time has come',
      report.streams.map(({ stream, ahead }) => ahead > 0 && `${formatCount(ahead)} of ${stream}`),
    ),
    ...renderStreamReasons(report.streams.filter(({ failed }) => failed !== interruptedText)),
    ...failureLines(report, now),
    ...(report.gaps.length === 0 ? ['no gaps'] : renderGaps(report.gaps, report.openGaps)),
    ...behaviourLines(report, verbose),
  ]
}

function listed(what: string, items: readonly (string | null | false)[]): string[] {
  const shown = items.filter((item) => item !== null && item !== false)
  return shown.length === 0 ? [] : [`${what}: ${shown.join(', ')}`]
}

function streamState(
  { failed, failedSince, skipped }: StatusReport['streams'][number],
  now: EpochMs,
): string {
  if (failed === interruptedText) return 'unfinished'
  if (failed !== null)
    return failedSince === null ? 'failed' : `failing for ${durationSince(failedSince, now)}`
  return skipped === null ? '' : 'skipped'
}

/** What holds now, each with its name; what does not hold has no row. */
function factRows(report: ProjectStatus, now: EpochMs, hint: CommandHint): string[][] {
  const { moved, running, workers, paused, held, clockOffset, budget, facts, history } = report
  const rows: (readonly [name: string, value: string | null])[] = [
    ['project', report.project],
    ['moved', moved],
    ['last run', lastRun(report, now)],
    ['running', running && `${running.holder}, since ${formatAge(running.since, now)}`],
    ...workers.map((worker, n) => {
      const value = `${worker.holder}, queue ${worker.queue}, since ${formatAge(worker.since, now)}`
      const name = workers.length === 1 ? 'worker' : 'workers'
      return [n === 0 ? name : '', value + silenceNote(worker.heardAt, now)] as const
    }),
    ['paused', paused && pauseText(paused, now)],
    [
      'not sending',
      held &&
        `since ${held.since}: ${held.why}; next: ${hint(`writeback resume ${held.resumeBy}`)}`,
    ],
    ['clock', clockText(clockOffset)],
    ['budget', budgetText(budget, now)],
    ['', lossText(budget, now)],
    ['facts', factsText(facts)],
    ['columns', describeColumns(report.columns)],
    ['history', history.length === 0 ? null : `versions of ${history.join(', ')} are kept`],
    ...report.lakes.map((lake) => ['lake', lakeText(lake, now)] as const),
    ['notified', notifiedText(report, now)],
    ...report.unfinishedErasures.map((visitor): [string, string] => [
      'unfinished',
      `an erasure; next: ${
        visitor === ''
          ? `deskmirror erase --project ${report.project} --yes`
          : hint(`erase --visitor ${visitor} --yes`)
      }`,
    ]),
  ]
  return [
    ...rows.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    ...auditRows(report.audits, now),
  ]
}

const noEnd =
  'recorded no end: its process was killed, or could not write to the warehouse (a full disk)'

function lastRun({ lastRun: run, running }: StatusReport, now: EpochMs): string {
  if (run === null) return 'none yet: run `deskmirror sync`'
  const end =
    run.finishedAt === null
      ? `started ${formatAge(run.startedAt, now)}`
      : formatAge(run.finishedAt, now)
  return (
    `${run.mode}, ${run.outcome ?? (running === null ? noEnd : 'not finished')}, ${end}, ` +
    `${pluralize(run.requests, 'request')}`
  )
}

/** A worker that writes no heartbeat, as it does each half minute, cannot reach the warehouse. */
const silentMs = 3 * 60_000

function silenceNote(heardAt: string, now: EpochMs): string {
  if (now - Date.parse(heardAt) < silentMs) return ''
  return `; it has not written to the warehouse for ${durationSince(heardAt, now)}: its log says why`
}

function pauseText({ until, why }: NonNullable<StatusReport['paused']>, now: EpochMs): string {
  const left = formatDuration(Math.max(1000, Date.parse(until) - now))
  return `the service denies the key; next try in ${left}, or at once with a new key: ${why}`
}

function clockText(offset: number | null): string | null {
  if (offset === null || Math.abs(offset) <= clockToleranceSeconds) return null
  const difference = `${formatDuration(Math.abs(offset) * 1000)} ${offset > 0 ? 'ahead of' : 'behind'}`
  return `the service's is ${difference} this machine's: no row is missed, but some are read again`
}

function budgetText(budget: StatusReport['budget'], now: EpochMs): string {
  const { usedInWindow, limit, windowMs, forecastMs, pausedUntil } = budget
  const used = `${formatCount(usedInWindow)} of ${formatCount(limit)} in the last ${formatDuration(windowMs)}`
  const pauseMs = pausedUntil === null ? 0 : Math.max(0, Date.parse(pausedUntil) - now)
  const work = forecastMs === 0 ? '' : `; what is pending takes about ${formatDuration(forecastMs)}`
  if (pauseMs === 0) return used + work
  return (
    `${used}; paused for ${formatDuration(pauseMs)}, until ` +
    `${pausedUntil}, as the service asked (429)${work}`
  )
}

/** One day, so that the morning still shows what happened at night. */
const showLostForMs = 24 * 3_600_000

function lossText({ lost, windowMs }: StatusReport['budget'], now: EpochMs): string | null {
  if (lost === null || now - Date.parse(lost.at) > showLostForMs) return null
  const isOver = now - Date.parse(lost.at) > windowMs
  const what = isOver ? 'was sent for a while,' : 'is sent for the time being, since'
  return `nothing ${what} ${formatAge(lost.at, now)}: ${lost.why}`
}

function factsText({ conversations, isRebuild }: StatusReport['facts']): string | null {
  const waiting = pluralize(conversations, 'conversation')
  if (isRebuild) return `all are derived anew: ${waiting} left, with the next syncs`
  return conversations === 0 ? null : `to be derived again for ${waiting}, with the next sync`
}

function notifiedText({ notifications }: StatusReport, now: EpochMs): string | null {
  const events = notifications.map(
    ({ event, announcedAt }) => `${describeEvent(event)}, ${formatAge(announcedAt, now)}`,
  )
  return events.length === 0 ? null : events.join('; ')
}

function lakeText({ folder, writtenAt, rows, problem }: LakeStatus, now: EpochMs): string {
  if (problem !== null) return toPrintable(problem)
  if (writtenAt === null) return toPrintable(`${folder}, not written yet`)
  return toPrintable(`${folder}, ${pluralize(rows, 'row')}, as of ${formatAge(writtenAt, now)}`)
}

const jobNames: Readonly<Record<JobKind, string>> = {
  sync: 'sync run',
  writebacks: 'write-backs',
  schedule: 'schedule',
  lake: 'lake',
  housekeeping: 'housekeeping',
  maintenance: 'maintenance of schedules and overdue work',
  outbox_poll: 'search for write-backs that can be sent',
  notify: 'notifications',
  queue: 'queue',
  write_ahead_log: 'write-ahead log',
}

/** The table `sync_failures` has all of them. */
const maxFailures = 10

/** Other failing jobs of the workers; streams that are not read have a line of their own. */
function failureLines({ failures }: StatusReport, now: EpochMs): string[] {
  const others = failures.filter(({ job, subject }) => failedStream({ job, key: subject }) === null)
  const lines = others
    .slice(0, maxFailures)
    .map(({ job, subject, since, failures: times, reason }) => {
      const what = subject === '' ? jobNames[job] : `${jobNames[job]} ${subject}`
      return toPrintable(
        `failing for ${durationSince(since, now)}: ${what} ` +
          `(${times === 1 ? 'once' : `${times} times`}): ${reason}`,
      )
    })
  const more = others.length - lines.length
  return more > 0 ? [...lines, `… and ${more} more: select * from sync_failures`] : lines
}

function durationSince(since: string, now: EpochMs): string {
  return formatDuration(Math.max(0, now - Date.parse(since)))
}

function writebackRows(
  { writebacks, withoutProject, blockedLanes, readOnly }: ProjectStatus,
  hint: CommandHint,
  isOnlyProject: boolean,
): string[][] {
  const queue = Object.entries(writebacks).map(([state, rows]) => `${formatCount(rows)} ${state}`)
  const lines = linesOf(
    queue.length > 0 && queue.join(', '),
    readOnly && 'nothing is sent: writing is switched off (DESKMIRROR_READ_ONLY)',
    renderWithoutProject(withoutProject, isOnlyProject),
    renderBlockedLanes(blockedLanes, hint),
  )
  return lines.map((line, n) => [n === 0 ? 'write-backs' : '', line])
}

function behaviourLines({ behaviours }: StatusReport, verbose: boolean): string[] {
  if (behaviours.length === 0) return []
  if (!verbose)
    return [
      `${pluralize(behaviours.length, 'behaviour')} of the service ` +
        'learned (--verbose shows the evidence)',
    ]
  return alignColumns([
    ['learned', '', ''],
    ...behaviours.map(({ name, value, evidence, learnedAt }) => [
      name,
      value,
      `${evidence} (${learnedAt})`,
    ]),
  ])
}
