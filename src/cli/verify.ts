/** `deskmirror verify`: compares the mirror with the service, row by row. */
import { Option } from 'commander'
import type { StreamName } from '../../schema/stream-specs.ts'
import type { DigestComparison } from '../app/verify.ts'
import type { PrivateReport } from '../app/verify-private.ts'
import { hasChanges } from '../export/core/day-digests.ts'
import type { DayChange } from '../export/export.ts'
import type { VerifyReport } from '../mirror/mirror.ts'
import { formatCount, pluralize, toPrintable } from '../values/format.ts'
import { UserError } from '../values/user-error.ts'
import {
  type CommandResult,
  defineCommand,
  type Rendered,
  runOverMirror,
  runOverService,
} from './command.ts'
import type { CommandContext } from './command-context.ts'
import {
  type CommonOptions,
  jsonOption,
  parseSampleSize,
  parseWholeNumber,
  projectOption,
  quietOption,
  streamsOption,
} from './options.ts'
import { createSyncLine } from './render/display.ts'
import { isClean, remainsLines } from './render/remains.ts'
import { differenceRow, renderStreamReasons } from './render/streams.ts'
import { alignColumns, linesOf } from './render/table.ts'

type Options = CommonOptions & {
  readonly streams?: readonly StreamName[]
  /** How many differences, or days that are not the same, are listed. */
  readonly limit: number
  readonly sample?: number
  readonly against?: string
  readonly private?: true
  readonly certificate?: string
}

const help = `
Reads the whole service again, so it takes 1.3 times as many requests as a first sync, three times if the service never sets hasMore, as it trusts nothing learned; with --sample far fewer. Changes nothing, neither in the service nor in the warehouse.

With --json it also counts the rows of each stream and day, with a digest of them. --against FILE compares with such a document:
it reads only the warehouse, counts again, and lists the days that are no longer the same.

--private reads a sample from the service, takes the values of columns that \`columns\` blocks or hashes, and looks for them in all
tables, definitions, statistics and files of the warehouse, as \`erase\` does. It looks for addresses, names of 8 characters and
texts of 12, with several words; not for single words of fewer than 20, nor for what the team wrote.

Examples:
  $ deskmirror verify
  $ deskmirror verify --streams conversations --limit 20
  $ deskmirror verify --sample 1000            at random, with their messages and activity
  $ deskmirror verify --json > 2026-11.json    what was compared, what could not be, counts and digests
  $ deskmirror verify --against 2026-11.json
  $ deskmirror verify --private                what is left of private columns, and what removes it

Exit code: 0 equal · 1 failed · 2 a person must change something, or the file has no counts of this project · 3 something differs, or could not be compared`

export const command = defineCommand<Options>({
  name: 'verify',
  description: 'Compares the mirror with the service, row by row, and prints what differs.',
  options: [
    streamsOption(),
    projectOption(),
    new Option('--sample <n>', 'compare only so many conversations and visitors, drawn at random')
      .argParser(parseSampleSize)
      .conflicts('against'),
    new Option('--limit <n>', 'how many differences or days to list (all are counted)')
      .argParser(parseWholeNumber)
      .default(100),
    new Option(
      '--against <file>',
      'say what changed since `verify --json` printed this file; reads only the warehouse',
    ),
    new Option(
      '--private',
      'look for values of blocked and hashed columns in all that is stored',
    ).conflicts(['against', 'streams']),
    new Option('--certificate <file>').hideHelp(),
    quietOption(),
    jsonOption(),
  ],
  help,
  run: async (context, options) => {
    if (options.certificate !== undefined)
      throw new UserError({
        what: 'cannot write a certificate',
        why: 'there is no --certificate any more: --json prints what it stated',
        next: 'run `deskmirror verify --json > FILE`',
      })
    if (options.private) return comparePrivate(context, options)
    return options.against === undefined
      ? compare(context, options)
      : compareAgainst(context, options.against, options)
  },
})

function compare(context: CommandContext, options: Options): Promise<CommandResult> {
  const { limit, sample: sampleSize } = options
  const { now } = context
  return runOverService(
    context,
    options,
    async ({ config, project }, handlers, display) => {
      const { streams = project.streams } = options
      const app = await context.load(() => import('../app/verify.ts'))
      const verify = options.json ? app.verifyWithDigests : app.verifyProject
      const { onProgress } = createSyncLine(display, now)
      const chosen = { streams, limit, sampleSize, now }
      return verify(config, project, { ...chosen, ...handlers, onProgress })
    },
    renderVerify,
  )
}

function comparePrivate(context: CommandContext, options: Options): Promise<CommandResult> {
  return runOverService(
    context,
    options,
    async ({ config, project }, handlers) => {
      const { verifyPrivate } = await context.load(() => import('../app/verify-private.ts'))
      return verifyPrivate(config, project, { sampleSize: options.sample, ...handlers })
    },
    renderPrivate,
  )
}

function renderPrivate({ project, columns, skipped, search, requests }: PrivateReport): Rendered {
  const rows = columns.map(({ column, values }) => [column, pluralize(values, 'value')])
  const unread = skipped.map(({ stream, why }) => `${stream} could not be read: ${why}`)
  return {
    lines: [
      toPrintable(`${project}: taken from the service in ${pluralize(requests, 'request')}`),
      ...alignColumns(rows, '  '),
      ...remainsLines(search),
      ...unread.map(toPrintable),
    ],
    exit: isClean(search) && unread.length === 0 ? 0 : 3,
  }
}

function compareAgainst(
  context: CommandContext,
  file: string,
  options: Options,
): Promise<CommandResult> {
  const { signal } = new AbortController()
  return runOverMirror(
    context,
    options,
    async ({ config, project }) => {
      const { compareWithDocument } = await context.load(() => import('../app/verify.ts'))
      return compareWithDocument(config, project, {
        file,
        streams: options.streams,
        signal,
        now: context.now,
      })
    },
    (comparison) => renderComparison(comparison, options.limit),
  )
}

function renderVerify(report: VerifyReport): Rendered {
  const sum = (of: 'compared' | 'differing') =>
    report.streams.reduce((total, stream) => total + stream[of], 0)
  const counts = (compared: number, differing: number) => [
    `${formatCount(compared)} compared`,
    `${formatCount(differing)} differ`,
  ]
  const total = [
    report.project,
    ...counts(sum('compared'), sum('differing')),
    pluralize(report.requests, 'request'),
  ]
  const skipped = renderStreamReasons(report.streams.map((stream) => ({ ...stream, failed: null })))
  const incomplete = report.streams.flatMap(({ stream, incomplete: why }) =>
    why === undefined ? [] : [toPrintable(`not all of ${stream} could be read: ${why}`)],
  )
  return {
    lines: linesOf(
      alignColumns([
        ...report.streams.map((it) => [it.stream, ...counts(it.compared, it.differing)]),
        total,
      ]),
      alignColumns(report.differences.map(differenceRow)),
      report.truncated && '… and more; --limit raises the number',
      skipped,
      incomplete,
      nextSteps(report),
    ),
    exit: sum('differing') + skipped.length + incomplete.length === 0 ? 0 : 3,
  }
}

/** Rollups of past days change without a trace, and incremental syncs read only the last ones. */
function nextSteps({ project, streams }: VerifyReport): readonly string[] {
  const ofProject = project === 'default' ? '' : ` --project ${project}`
  const differing = streams.filter((stream) => stream.differing > 0).map(({ stream }) => stream)
  const rows =
    'rows that changed since the last sync differ until the next one: run `deskmirror ' +
    `sync${ofProject}\` and verify again; what differs then, \`deskmirror sync --mode ` +
    `full${ofProject}\` reads again`
  const rollups =
    'a rollup differs if something of its day changed after it was read, which is expected; ' +
    'a worker reads rollups again at night, and `deskmirror sync --mode full --streams ' +
    `analytics${ofProject}\` does so now`
  return linesOf(
    differing.some((stream) => stream !== 'analytics') && `→ ${rows}`,
    differing.includes('analytics') && `→ ${rollups}`,
  )
}

/** `limit`: how many days are listed. */
function renderComparison(
  { project, before, countedAt, streams }: DigestComparison,
  limit: number,
): Rendered {
  const changed = streams.flatMap(({ days }) => days)
  const header = ['', 'rows then', 'rows now', 'days the same', 'more', 'fewer', 'changed']
  const rows = streams.map(({ stream, before: then, now, counts }) => [
    stream,
    ...[then, now, counts.same, counts.more, counts.fewer, counts.changed].map(formatCount),
  ])
  return {
    lines: linesOf(
      toPrintable(`${project}: counted at ${before.countedAt}, and again at ${countedAt}`),
      alignColumns([header, ...rows]),
      alignColumns(changed.slice(0, limit).map(dayRow)),
      changed.length > limit &&
        `… and ${formatCount(changed.length - limit)} more; --limit raises the number`,
      conclusion(changed),
    ),
    exit: hasChanges(streams) ? 3 : 0,
  }
}

function dayRow({ stream, day, state, before, now }: DayChange): string[] {
  const rows =
    before === now ? pluralize(now, 'row') : `${formatCount(before)} → ${pluralize(now, 'row')}`
  return [stream, day ?? 'no day', state, rows]
}

function conclusion(changed: readonly DayChange[]): readonly string[] {
  if (changed.length === 0) return ['nothing has changed: the rows of every day are the same']
  const isCounted = changed.some(({ state }) => state === 'more' || state === 'fewer')
  return linesOf(
    `${pluralize(changed.length, 'day')} ${changed.length === 1 ? 'is' : 'are'} not the same`,
    isCounted &&
      'more, fewer: whether the other rows of such a day are the same is not known from a digest',
  )
}
