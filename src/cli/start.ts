/** `deskmirror start`: runs the worker until it is stopped. */
import type { RunningWorker } from '../../jobs/worker.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../log.ts'
import { pluralize } from '../values/format.ts'
import { locationLabel, parseDatabaseUrl } from '../warehouse/location.ts'
import { defineCommand } from './command.ts'
import type { CommandContext } from './command-context.ts'
import { explainError } from './explain-error.ts'
import { linesOf } from './render/table.ts'

const help = `
Reads every project by its schedules (docs/reference/settings.md), and answers over HTTP: /healthz, /readyz, /metrics,
the console at /console, and, with a queue in Redis, /queues.
SIGTERM or Ctrl-C finishes the current pages and stops within 10 seconds. SIGHUP reads the configuration again.

Examples:
  $ deskmirror start
  $ DESKMIRROR_QUEUE_URL=redis://127.0.0.1 deskmirror start        on as many machines as you like
  $ DESKMIRROR_HTTP=off DESKMIRROR_LOG_LEVEL=debug deskmirror start

Exit code: 0 stopped on request · 1 failed, start it again · 2 a person must change something`

export const command = defineCommand({
  name: 'start',
  description:
    'Runs the worker, which keeps the mirror up to date by schedule, until it is stopped.',
  options: [],
  help,
  run: async (context) => {
    const config = context.loadConfig('worker')
    const display = context.openDisplay(false)
    // The log is the display of a worker.
    const log = await context.openLog({ ...config, logLevelChosen: true, warnings: [] }, display)
    logWarnings(config, log)
    log.info({ event: 'worker.starting', ...describeLocations(config) })
    const { stopped, onReload, onUncaughtError, exit } = context.listenForSignals()
    const failed = Promise.withResolvers<Error>()
    onUncaughtError((error) =>
      failed.resolve(error instanceof Error ? error : new Error(String(error))),
    )
    const { startWorker } = await context.load(() => import('../../jobs/worker.ts'))
    const worker = await Promise.race([
      startWorker(config, { log, onFatal: failed.resolve }),
      stopped,
    ])
    // It may have been waiting for a server; no work has started yet.
    if (worker === 'stop') return exit(0)
    onReload(() => reload(context, worker, log))
    context.writeOut(`${renderStarted(config, worker).join('\n')}\n`)

    const reason = await Promise.race([stopped, failed.promise])
    if (reason instanceof Error)
      log.fatal({ event: 'worker.failed', why: reason.message, stack: reason.stack })
    else log.info({ event: 'worker.stopping' })
    await worker.stop()
    return exit(reason instanceof Error ? 1 : 0)
  },
})

/** An invalid configuration changes nothing. */
function reload(context: CommandContext, worker: RunningWorker, log: Logger): void {
  try {
    const config = context.loadConfig('worker')
    logWarnings(config, log)
    const needRestart = worker.reload(config)
    log.info({ event: 'config.reloaded', projects: config.projects.length })
    if (needRestart.length > 0)
      log.warn({
        event: 'config.restart_required',
        settings: needRestart,
        why: 'these settings need a restart',
      })
  } catch (error) {
    const { why } = explainError(error)
    log.error({
      event: 'config.rejected',
      why,
      note: 'the worker continues with the previous configuration',
    })
  }
}

function logWarnings({ warnings }: Config, log: Logger): void {
  for (const why of warnings) log.warn({ event: 'config.warning', why })
}

/** What the worker opens: a server that is down is waited for. */
function describeLocations({ databaseUrl, queueUrl }: Pick<Config, 'databaseUrl' | 'queueUrl'>) {
  return {
    warehouse: locationLabel(parseDatabaseUrl(databaseUrl)),
    queue: queueUrl.replace(/:.*/s, ''),
  }
}

const maxListed = 10

function renderStarted(
  { projects, ...config }: Config,
  { queue, address, consoleLink }: RunningWorker,
): readonly string[] {
  const names = projects.slice(0, maxListed).map(({ name }) => name)
  const more = projects.length > maxListed ? ', …' : ''
  return linesOf(
    `deskmirror is running: ${pluralize(projects.length, 'project')} (${names.join(', ')}${more})`,
    `  warehouse  ${describeLocations(config).warehouse}`,
    `  queue      ${queue}`,
    `  http       ${address ?? 'off'}`,
    address !== null && `  console    ${consoleLink ?? `${address}/console`}`,
    consoleLink !== null &&
      '             the link works once, for 15 minutes: ' +
        '`deskmirror console --link` prints another',
  )
}
