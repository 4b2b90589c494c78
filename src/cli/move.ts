/** `deskmirror move`: moves the warehouse, or a project of it, into another database. */
import { Option } from 'commander'
import type { MoveReport } from '../app/move.ts'
import type { ProjectConfig } from '../config/config.ts'
import type { TableProgress } from '../maintenance/maintenance.ts'
import { formatCount, formatDuration, pluralize } from '../values/format.ts'
import type { Ms } from '../values/time.ts'
import { afterMove, wholeWarehouse } from '../warehouse/moves.ts'
import { type CommandResult, defineCommand, selectCall } from './command.ts'
import { type CommonOptions, jsonOption, quietOption } from './options.ts'
import { joinParts, timeLeft } from './render/progress.ts'

type Options = CommonOptions & { readonly to: string; readonly sourceLost?: true }

const help = `
Everything moves: the mirror, its history, write-backs with their log and batches, cursors, gaps, what was learned. Nothing
is read again from the service, and nothing is sent twice. Stop the workers of both databases first.
It goes between SQLite and Postgres, in any direction, into a new database; one project, by --project, also into a
warehouse of other projects. Rights, and objects that people made themselves, stay behind.

Until the copy is complete and compared, the warehouse is used where it was. Then it refuses to sync and send, and says
where it went; reading it goes on. If it is killed, run it again: it continues. It can be moved back in the same way.

Leave a password out of the address: other users see it in the list of processes. PGPASSWORD or ~/.pgpass has it.

Examples:
  $ deskmirror move --to postgres://user@host/mirror
  $ deskmirror move --to sqlite:/var/lib/deskmirror/shop.db --project shop

Exit code: 0 moved · 1 interrupted, or in use: run it again · 2 a person must change something`

export const command = defineCommand<Options>({
  name: 'move',
  description: 'Moves the warehouse, or a project of it, into another database.',
  options: [
    new Option(
      '--to <url>',
      'the other database: sqlite:PATH or postgres://…',
    ).makeOptionMandatory(),
    new Option('--project <name>', 'only this project of deskmirror.yaml'),
    new Option(
      '--source-lost',
      'end a move whose source was lost before it ended; sending is ' +
        'then held until a person has looked',
    ),
    quietOption(),
    jsonOption(),
  ],
  help,
  run: async (context, options): Promise<CommandResult> => {
    const { to } = options
    const config = context.loadConfig('mirror')
    const project: ProjectConfig | null =
      options.project === undefined
        ? null
        : selectCall(config, options.project, 'nothing was moved').project
    const { moveWarehouse, acceptMoved } = await context.load(() => import('../app/move.ts'))
    const display = context.openDisplay(options.quiet === true)
    const log = await context.openLog(config, display)
    const setting = config.databaseSetting ?? 'DESKMIRROR_DATABASE_URL'
    if (options.sourceLost === true) {
      const accepted = await acceptMoved({ to, project, log })
      const next = [
        `${accepted.to} is used from now on; sending is held: ` +
          '`deskmirror writeback resume --restored`',
        changeOf(accepted, setting),
      ]
      return { document: accepted, lines: next, exit: 0 }
    }
    const signal = context.openInterruptSignal(display, 'the rows in hand')
    const startedAt = context.now()
    const onProgress = (progress: TableProgress) =>
      display.onLine(renderProgress(progress, context.now() - startedAt))
    const report = await moveWarehouse(config, { to, project, signal, log, onProgress }).finally(
      display.clear,
    )
    return { document: report, ...renderMove(report, setting) }
  },
})

/** `12,000 rows copied   message_rows   40,500 left   about 14 s left` */
function renderProgress({ table, done, left }: TableProgress, tookMs: Ms): string {
  const what = table === 'search_words' ? 'conversation' : 'row'
  const copied = `${pluralize(done, what)} ${what === 'row' ? 'copied' : 'indexed'}`
  return joinParts(copied, table, `${formatCount(left)} left`, timeLeft(done, left, tookMs))
}

function renderMove(report: MoveReport, setting: string): Pick<CommandResult, 'lines' | 'exit'> {
  const { from, to, outcome, rows, tables, tookMs } = report
  if (outcome === 'interrupted')
    return {
      lines: [`interrupted: ${from} is used as before; the same command goes on`],
      exit: 1,
    }
  const count = `${pluralize(rows, 'row')} of ${pluralize(tables.length, 'table')}`
  return {
    lines: [
      `moved ${from} to ${to}: ${count}, compared, in ${formatDuration(tookMs)}`,
      changeOf(report, setting),
      'its first sync or push may wait for two minutes: the requests sent before are not known ' +
        'there, and the rate must not be exceeded',
    ],
    exit: 0,
  }
}

const changeOf = ({ to, whole }: Pick<MoveReport, 'to' | 'whole'>, setting: string): string =>
  `next: ${afterMove({ project_id: whole ? wholeWarehouse : 'one', other: to }, setting)}`
